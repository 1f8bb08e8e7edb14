"""The pages of one queue, and the commands that configure, rename and delete queues."""
