"""The theorems: one module a subject. Each module declares a GROUP, which formal/catalogue.py collects.

To add a theorem, write a module with a GROUP (descriptors.py is a short one) whose place no other group has.
"""
