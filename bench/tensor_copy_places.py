"""Where in shared memory may a tensor copy write or read? Each offset and each swizzle is tried on a GPU.

python bench/tensor_copy_places.py

A process tries one offset, since a fault ends all that a process does on the GPU. 0: the copy was done; 716:
the address is misaligned.
"""

from __future__ import annotations

import ctypes as c
import subprocess
import sys

COPIES = {
    "load": "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [s],[q,{0,0}],[m];",
    "store": "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [q,{0,0}],[s];"
    "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; mbarrier.complete_tx.shared::cta.b64 [m],1024;",
}
PTX = """.version 8.4
.target sm_90a
.address_size 64
.visible .entry k(.param .align 64 .b8 map[128],.param .u32 off) .reqntid 32,1,1
{
.reg .pred p,z; .reg .b32 t,s,m,o; .reg .b64 q;
.shared .align 1024 .b8 sm[8192]; .shared .align 8 .b64 mb;
mov.u32 t,%tid.x; setp.eq.u32 z,t,0; mov.u32 s,sm; mov.u32 m,mb; ld.param.u32 o,[off]; add.u32 s,s,o;
@z mbarrier.init.shared::cta.b64 [m],1;
@z fence.mbarrier_init.release.cluster;
bar.sync 0;
@!z bra W;
mov.b64 q,map; cvta.param.u64 q,q;
mbarrier.arrive.expect_tx.shared::cta.b64 _,[m],1024;
COPY
W: mbarrier.try_wait.parity.shared::cta.b64 p,[m],0; @!p bra W;
ret;
}"""


def tried(way: str, swizzle: int, offset: int) -> int:
    """The error of a copy of 1024 bytes at an offset from an address that is a multiple of 1024."""
    cuda = c.CDLL("libcuda.so.1")
    context, module, kernel, memory = c.c_void_p(), c.c_void_p(), c.c_void_p(), c.c_uint64()
    map_ = (c.c_ubyte * 192)()
    place = c.c_void_p((c.addressof(map_) + 63) // 64 * 64)
    inner = 32 << (swizzle - 1) % 3  # bytes: as many as the swizzle spans
    pair, wide = c.c_uint32 * 2, c.c_uint64 * 2
    cuda.cuInit(0)
    cuda.cuDevicePrimaryCtxRetain(c.byref(context), 0)
    cuda.cuCtxSetCurrent(context)
    text = PTX.replace("COPY", COPIES[way]).encode()
    made = cuda.cuModuleLoadData(c.byref(module), text)
    made |= cuda.cuModuleGetFunction(c.byref(kernel), module, b"k")
    made |= cuda.cuMemAlloc_v2(c.byref(memory), 8192)
    box, sizes, pitch = pair(inner // 4, 1024 // inner), wide(inner // 4, 64), wide(inner)
    made |= cuda.cuTensorMapEncodeTiled(place, 2, 2, memory, sizes, pitch, box, pair(1, 1), 0, swizzle, 0, 0)
    if made:
        return -1
    number = c.c_uint32(offset)
    given = (c.c_void_p * 2)(place, c.addressof(number))
    cuda.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, None, given, None)
    return int(cuda.cuCtxSynchronize())


def main() -> None:
    """Try one offset, or all of them."""
    if len(sys.argv) > 1:
        print(tried(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
        return
    for way in COPIES:
        for swizzle in range(4):
            for offset in (0, 128, 64, 32, 16, 8):
                again = [sys.executable, __file__, way, str(swizzle), str(offset)]
                done = subprocess.run(again, capture_output=True, text=True, check=True, timeout=60)
                print(f"{way}, swizzle {swizzle}, offset {offset}: {done.stdout.strip()}")


if __name__ == "__main__":
    main()
