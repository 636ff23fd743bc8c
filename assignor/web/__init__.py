"""The tool as a web page: static files that run this very Python in the browser (Pyodide), and a server for them.

``build`` makes the files, ``server`` serves them on loopback, ``pages/`` has the sources of the page. What the page
asks of Python is in ``cli.in_browser``.
"""
