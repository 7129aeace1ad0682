"""The litmus tests of the ordering rules, and how each looks as PTX."""
