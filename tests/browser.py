"""A real browser for pages: Chromium and its driver, as Debian has them, without a network but loopback."""

import os
import shutil
from contextlib import contextmanager

import pytest


@contextmanager
def open_browser(proxy=None, net_log=None):
    """Yield Chromium.

    ``proxy`` gets every request, also those to loopback. ``net_log`` is a file in which Chromium writes what it sends,
    and for whom; after its end the file is whole.
    """
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium: pip install selenium")
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not driver:
        pytest.skip("needs a browser: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in (
        "--headless=new",
        "--disable-gpu",
        "--window-size=1300,1200",
        f"--proxy-server={proxy or '127.0.0.1:1'}",
    ):
        options.add_argument(argument)
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")
    if proxy:
        options.add_argument("--proxy-bypass-list=<-loopback>")
    if net_log:
        options.add_argument(f"--log-net-log={net_log}")
        options.add_argument("--net-log-capture-mode=Everything")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options, webdriver.ChromeService(driver))
    try:
        yield browser
    finally:
        browser.quit()
