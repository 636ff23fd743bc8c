"""The variables that releases read of their environment, and which settings make a property necessary."""

import pytest

from streams_assignor.upgrade.application.environment import (
    ALL_VARIABLES,
    compare_environments,
    environment_of,
    need_rules,
    needs_of,
)
from streams_assignor.upgrade.application.stored import NoTable
from streams_assignor.upgrade.releases import RELEASES

KAFKA = "org.apache.kafka."
URLS = f"{KAFKA}sasl.oauthbearer.allowed.urls"
FILES = f"{KAFKA}sasl.oauthbearer.allowed.files"
DISALLOWED = f"{KAFKA}disallowed.login.modules"
TOKEN = "sasl.oauthbearer.token.endpoint.url"
JWKS = "sasl.oauthbearer.jwks.endpoint.url"
LDAP = "com.sun.security.auth.module.LdapLoginModule"
JNDI = "com.sun.security.auth.module.JndiLoginModule"


def needed(release, settings):
    return [each.property for each in needs_of(RELEASES[release], settings)]


def test_a_release_reads_what_its_code_names():
    assert URLS not in environment_of(RELEASES["3.9.0"])
    assert (JNDI,) == environment_of(RELEASES["3.9.0"])[DISALLOWED].defaults
    assert (f"{JNDI},{LDAP}",) == environment_of(RELEASES["3.9.1"])[DISALLOWED].defaults
    variables = environment_of(RELEASES["3.5.0"])[ALL_VARIABLES]
    assert (False, ("org.apache.kafka.common.config.provider.EnvVarConfigProvider",)) == (
        variables.is_property,
        variables.readers,
    )
    assert ALL_VARIABLES not in environment_of(RELEASES["3.4.1"])


@pytest.mark.parametrize(
    ("release", "settings", "properties"),
    [
        ("3.9.2", {TOKEN: "https://a"}, []),
        ("4.0.0", {TOKEN: "https://a"}, [URLS]),
        ("4.0.0", {TOKEN: "file:///a"}, [URLS]),
        ("4.1.0", {TOKEN: "file:///a"}, [URLS, FILES]),
        ("4.1.0", {"sasl.oauthbearer.assertion.file": "/a"}, [FILES]),
        ("3.3.2", {"sasl.jaas.config": f"{JNDI} required;"}, []),
        ("3.4.0", {"sasl.jaas.config": f"{JNDI} required;"}, [DISALLOWED]),
        ("3.9.0", {"sasl.jaas.config": f"{LDAP} required;"}, []),
        ("3.9.1", {"sasl.jaas.config": f"{LDAP} required;"}, [DISALLOWED]),
        ("4.2.0", {"sasl.jaas.config": f"{LDAP} required;"}, [f"{KAFKA}allowed.login.modules"]),
        ("4.2.0", {"sasl.jaas.config": "org.example.PlainLoginModule required;"}, []),
        ("4.0.0", {"security.protocol": "SASL_SSL"}, ["java.security.auth.login.config"]),
        ("4.0.0", {"security.protocol": "SASL_SSL", "sasl.jaas.config": "a"}, []),
        ("4.0.0", {"security.protocol": "SSL"}, []),
    ],
)
def test_settings_make_a_property_necessary(release, settings, properties):
    assert properties == needed(release, settings)


def test_the_option_names_the_settings_and_not_their_values():
    (found,) = needs_of(RELEASES["4.0.0"], {TOKEN: "https://user:secret@a", JWKS: "https://b"})

    assert (TOKEN, JWKS) == found.keys
    assert f"-D{URLS}=<{TOKEN}>,<{JWKS}>" == found.option
    assert "secret" not in str(found)
    assert {"keys", "property", "reason", "option", "source"} == found.as_json().keys()
    assert [TOKEN, JWKS] == found.as_json()["keys"]


def test_each_rule_begins_with_the_release_whose_code_has_it():
    """A list of what is allowed is empty without the property; one of what is not allowed has the classes."""
    released = [each for each in RELEASES.values() if each.is_released]
    for rule in need_rules():
        having = [each for each in released if rule.applies_to(each.name)]
        assert all(rule.property in environment_of(each) for each in having), rule
        before = [each for each in released if each.number < having[0].number]
        if ".allowed." in rule.property or rule.property == DISALLOWED:
            old = [environment_of(each).get(rule.property) for each in before]
            current = environment_of(having[0])[rule.property]
            assert all(each is None or each.defaults != current.defaults for each in old), rule
        if ".oauthbearer.allowed." in rule.property:
            assert all(("",) == environment_of(each)[rule.property].defaults for each in having)
        if rule.property == DISALLOWED:
            named = environment_of(having[0])[rule.property].defaults[0].split(",")
            assert named == [each for each in (JNDI, LDAP) if rule.pattern.search(each)]


def test_what_differs_between_releases_is_listed():
    found = {each.name: each.as_json() for each in compare_environments(RELEASES["3.9.2"], RELEASES["4.1.0"])}

    assert {"name": URLS, "property": True, "old": {"defaults": []}, "new": {"defaults": [""]}} == found[URLS]
    assert None is found[FILES]["old"]
    assert None is found["zookeeper.sasl.client"]["new"]
    assert "java.security.auth.login.config" not in found
    assert () == compare_environments(RELEASES["4.3.1"], RELEASES["4.4.0"])


def test_a_release_that_was_never_published_has_no_environment():
    with pytest.raises(NoTable):
        environment_of(RELEASES["streams-assignor"])
