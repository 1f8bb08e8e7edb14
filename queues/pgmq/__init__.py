"""The functions of pgmq over the verbs: for programs that speak pgmq's SQL, and for a move away from it.

They live in the schema `pgmq`, where such programs look for them, and are installed by a command of their own
(`manage.py pgmq install`). Where pgmq itself is in that schema its functions are replaced in place, and its tables
stay until `pgmq.forward` has moved what is in them.
"""
