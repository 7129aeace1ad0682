"""How is a chip's arithmetic computed fast? numpy_sums runs array_programs, made of the stages and of
array_operations; sum_text writes the stages as C and CUDA, compiled_sums compiles it, dot_products chooses.
"""
