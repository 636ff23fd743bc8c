"""A Spark session, and a real browser for the pages."""

import os
import shutil

import pytest

from spark_sim.sweep.spark.session import spark_session


@pytest.fixture(scope="module")
def spark():
    """The session of the tests of a file."""
    with spark_session("local[2]", print) as session:
        yield session


@pytest.fixture(scope="module")
def browser():
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium: pip install selenium")
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not driver:
        pytest.skip("needs a browser: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in ("--headless=new", "--disable-gpu", "--window-size=1300,1200", "--proxy-server=127.0.0.1:1"):
        options.add_argument(argument)
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options, webdriver.ChromeService(driver))
    yield browser
    browser.quit()
