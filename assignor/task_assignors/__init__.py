"""The built-in task assignors: sticky, high availability and fallback prior, with rack awareness.

Each takes an ``application_state.ApplicationState`` and returns a ``task_assignment.TaskAssignment``, as task assignors
of applications do (``task_assignor``). ``built_in`` has them by name.
"""
