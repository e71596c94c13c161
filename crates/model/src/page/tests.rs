//! Pages: frozen as they are, and every mistake is reported.

use super::*;

/// The hash of each page, as it was first released. A page that must change gets another name.
const FROZEN: [(&str, &str); 2] = [
    ("rrul2013", "6eb3417e2acf0cbad506b9abf250c4e2575532788db91d056d83ccc3fa0f1fd5"),
    ("rrul2025", "cba33dd53cb5e660e67d2c309121f83ea050aa3f77c1f8145b36fc11af77079a"),
];

const SMALL: &str = r#"
title = "small"
secure = true
[[host]]
name = "www"
protocol = "h2"
[[object]]
kind = "html"
host = 0
octets = 100
[[object]]
kind = "image"
host = 0
octets = 200
parent = 0
think = "5ms"
later = true
"#;

#[test]
fn pages_are_what_they_were() {
    for (name, hash) in FROZEN {
        assert_eq!(Page::named(name).unwrap().hash, hash, "{name} has changed; give what is new another name");
    }
    assert_eq!(Page::NAMES, FROZEN.map(|(name, _)| name));
    assert!(Page::named("rrul1999").is_none());
}

#[test]
fn pages_have_the_shape_they_say() {
    let shape = |name: &str| {
        let page = Page::named(name).unwrap();
        let depth = |mut number: usize| {
            let mut depth = 1;
            while let Some(parent) = page.objects[number].parent {
                (number, depth) = (parent, depth + 1);
            }
            depth
        };
        let deepest = (0..page.objects.len()).map(depth).max();
        let heroes = page.objects.iter().filter(|object| object.hero).count();
        (page.objects.len(), page.octets().0, page.hosts.len(), deepest.unwrap(), heroes, page.secure)
    };
    assert_eq!(shape("rrul2013"), (100, 1_500_000, 15, 4, 1, false));
    assert_eq!(shape("rrul2025"), (78, 2_680_000, 16, 6, 1, true));
}

#[test]
fn every_host_of_a_page_is_asked() {
    for name in Page::NAMES {
        let page = Page::named(name).unwrap();
        for host in 0..page.hosts.len() {
            assert!(page.objects.iter().any(|object| object.host == host), "{name}: {}", page.hosts[host].name);
        }
    }
}

#[test]
fn comments_do_not_change_a_page_and_everything_else_does() {
    let hash = |text: &str| Page::read("small", text).unwrap().hash;
    let whole = hash(SMALL);
    assert_eq!(hash(&format!("# a comment\n{SMALL}")), whole);
    for (from, to) in [("octets = 200", "octets = 201"), ("5ms", "6ms"), ("later = true", "hero = true"), ("h2", "h3")]
    {
        assert_ne!(hash(&SMALL.replace(from, to)), whole, "{from}");
    }
}

#[test]
fn mistakes_are_reported() {
    for (from, to, message) in [
        ("parent = 0", "parent = 1", "object 1: needs a parent that stands before it"),
        ("parent = 0", "", "object 1: needs a parent that stands before it"),
        ("kind = \"image\"", "kind = \"imag\"", "object 1: unknown kind \"imag\""),
        ("octets = 200", "octets = 0", "object 1: 0 bytes"),
        ("think = \"5ms\"", "think = \"5\"", "object 1: \"5\""),
        ("think = \"5ms\"", "think = \"50s\"", "object 1: \"50s\" is longer than 10s"),
        ("secure = true", "secure = false", "host www: h2 without TLS, or unknown"),
        ("name = \"www\"", "name = \"w.w\"", "host \"w.w\" is no label"),
        ("kind = \"html\"", "kind = \"css\"", "the first object must be the document"),
    ] {
        let text = SMALL.replacen(from, to, 1);
        let error = Page::read("small", &text).expect_err(to).to_string();
        assert!(error.starts_with(&format!("page small: {message}")), "{error}");
    }
}
