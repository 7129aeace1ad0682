"""What editors ask while somebody writes PTX: `ptxmma language-server`.

- documents: what a text is (PTX or CUDA), and the mnemonic at a place in it;
- diagnostics: what `ptxmma check` finds, as editors show it;
- completions: the qualifiers with which a mnemonic can go on;
- hovers: what `ptxmma show` says of a mnemonic, with pictures of its layouts;
- server: all of it over the Language Server Protocol, with pygls.
"""
