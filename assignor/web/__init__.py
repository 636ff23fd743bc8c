"""The tool as a web page: static files that run this very Python in the browser (Pyodide), and a server for them.

``build`` makes the files, ``server`` serves them on loopback, ``pages/`` has the sources of the page. The
requests of the page to Python are in ``cli.in_browser``.
"""
