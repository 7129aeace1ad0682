// Nothing: the stand-in of CUDAGeneratorImpl.h has it.
