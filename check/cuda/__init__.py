"""Is the inline assembly of this CUDA C++ source right? `ptxmma check --cuda`.

check_source puts together what the others answer:
- tokens, conditionals, asm_statements, branches: what a C++ source holds, with the conditions around it;
- preprocessor, nvcc (nvcc.yaml), environments: for which versions and targets a condition holds;
- inline_operands, templates, ptx_statements: a string and its operands as PTX, read as the PTX of files is;
- verdicts, holes: what is wrong with each statement; guards: whether its conditions admit what it needs;
- enclosing, counts: what reports say beside findings.
"""
