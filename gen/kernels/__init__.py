"""How is an instruction executed, as PTX and as CUDA?

Three kinds of kernels, which kernel_list lists:
- value kernels take matrices and give D: value_ptx and cuda_text (parts: *_ptx, cuda_*);
- raw kernels take and give registers as they are: raw_ptx;
- kernels of opaque fragments (wmma) also hold the loads and stores that fill and empty them: opaque.

operations says what a value kernel computes; modules groups kernels into files; stand_in_text is plain C++.
"""
