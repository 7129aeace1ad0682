"""Which bits of wgmma's matrix descriptor change a product? Each is flipped on a GPU, in A's and in B's.

python bench/descriptor_bits.py

A process tries one bit, since a fault ends all that a process does on the GPU. Both matrices lie in shared
memory without a swizzle. A bit of a field gives another product, or a fault; a bit at which the chip does not
look gives the same one.
"""

from __future__ import annotations

import ctypes as c
import subprocess
import sys

BITS = 64
PTX = """.version 8.4
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out,.param .u64 a,.param .u64 b) .reqntid 128,1,1
{
.reg .pred p; .reg .b16 h; .reg .b32 t,s,i,n; .reg .b64 q,o,x,y,fa,fb; .reg .f32 f<4>;
.shared .align 1024 .b8 sm[16384];
mov.u32 t,%tid.x; mov.u32 s,sm; shl.b32 i,t,1; mov.b32 n,0;
FILL:
add.u32 i,i,256; and.b32 i,i,16383;
mad.lo.u32 n,i,37,n; and.b32 n,n,0x83ff; or.b32 n,n,0x3800; cvt.u16.u32 h,n;
{.reg .b32 w; add.u32 w,s,i; st.shared.b16 [w],h;}
shl.b32 n,t,1; setp.ne.u32 p,i,n; @p bra FILL;
fence.proxy.async.shared::cta; bar.sync 0;
ld.param.u64 fa,[a]; ld.param.u64 fb,[b];
and.b32 n,s,0x3ffff; shr.u32 n,n,4; cvt.u64.u32 x,n; add.u64 y,x,256;
or.b64 x,x,0x0000001000080000; or.b64 y,y,0x0000001000080000;
xor.b64 x,x,fa; xor.b64 y,y,fb;
mov.f32 f0,0f00000000; mov.f32 f1,f0; mov.f32 f2,f0; mov.f32 f3,f0;
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {f0,f1,f2,f3},x,y,1,1,1,0,0;
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
ld.param.u64 q,[out]; cvta.to.global.u64 q,q; mul.wide.u32 o,t,16; add.u64 q,q,o;
st.global.v4.f32 [q],{f0,f1,f2,f3};
ret;
}"""


def product(a: int, b: int) -> tuple[int, bytes]:
    """The error, and the product, with these bits of the two descriptors flipped."""
    cuda = c.CDLL("libcuda.so.1")
    context, module, kernel, memory = c.c_void_p(), c.c_void_p(), c.c_void_p(), c.c_uint64()
    size = 128 * 16
    cuda.cuInit(0)
    cuda.cuDevicePrimaryCtxRetain(c.byref(context), 0)
    cuda.cuCtxSetCurrent(context)
    made = cuda.cuModuleLoadData(c.byref(module), PTX.encode())
    made |= cuda.cuModuleGetFunction(c.byref(kernel), module, b"k")
    made |= cuda.cuMemAlloc_v2(c.byref(memory), size)
    if made:
        raise SystemExit(f"the kernel cannot be loaded: error {made}")
    numbers = memory, c.c_uint64(a), c.c_uint64(b)
    given = (c.c_void_p * 3)(*map(c.addressof, numbers))
    cuda.cuLaunchKernel(kernel, 1, 1, 1, 128, 1, 1, 0, None, given, None)
    error = int(cuda.cuCtxSynchronize())
    found = c.create_string_buffer(size)
    return error, b"" if error or cuda.cuMemcpyDtoH_v2(found, memory, size) else found.raw


def tried(a: int, b: int) -> str:
    """What a process of its own says of these bits: the error, and the product in hexadecimal digits."""
    again = [sys.executable, __file__, str(a), str(b)]
    return subprocess.run(again, capture_output=True, text=True, check=True, timeout=60).stdout


def main() -> None:
    """Try some bits, or each by itself."""
    if len(sys.argv) > 1:
        error, found = product(int(sys.argv[1]), int(sys.argv[2]))
        print(error, found.hex())
        return
    plain = tried(0, 0)
    if tried(0, 0) != plain or not plain.startswith("0 "):
        raise SystemExit(f"the product without a flipped bit is not the same twice: {plain[:40]}")
    for bit in range(BITS):
        for name, told in (("A", tried(1 << bit, 0)), ("B", tried(0, 1 << bit))):
            code = told.partition(" ")[0]
            said = f"error {code}" if code != "0" else "another product"
            print(f"bit {bit:2} of {name}: {'the same product' if told == plain else said}")


if __name__ == "__main__":
    main()
