"""How is a chip's arithmetic computed fast? numpy_sums reads the stages as arrays, sum_text writes them as C
and CUDA, compiled_sums compiles the C, dot_products chooses among them.
"""
