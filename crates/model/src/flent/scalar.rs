//! Values of Flent's files, which are of whatever type the version and the tool behind it wrote.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::printable;

/// Longest text that is kept, characters; what is longer is cut.
pub(super) const LONGEST_TEXT: usize = 1000;

/// A number, a text or nothing: lists, objects and `null` are nothing.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) enum Scalar {
    #[default]
    Nothing,
    Number(f64),
    Text(String),
}

impl Scalar {
    /// As a finite number; a text may hold one.
    pub(super) fn number(&self) -> Option<f64> {
        let number = match self {
            Self::Nothing => None,
            Self::Number(number) => Some(*number),
            Self::Text(text) => text.trim().parse().ok(),
        };
        number.filter(|number| number.is_finite())
    }

    /// As text that is not empty, without control characters.
    pub(super) fn text(&self) -> Option<String> {
        let text = match self {
            Self::Nothing => return None,
            Self::Number(number) => number.to_string(),
            Self::Text(text) => printable::field(text).trim().to_owned(),
        };
        (!text.is_empty()).then_some(text)
    }
}

struct ScalarVisitor;

impl<'de> Visitor<'de> for ScalarVisitor {
    type Value = Scalar;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }
    fn visit_bool<E>(self, value: bool) -> Result<Scalar, E> {
        Ok(Scalar::Text(value.to_string()))
    }
    fn visit_i64<E>(self, value: i64) -> Result<Scalar, E> {
        Ok(Scalar::Number(value as f64))
    }
    fn visit_u64<E>(self, value: u64) -> Result<Scalar, E> {
        Ok(Scalar::Number(value as f64))
    }
    fn visit_f64<E>(self, value: f64) -> Result<Scalar, E> {
        Ok(Scalar::Number(value))
    }
    fn visit_str<E>(self, value: &str) -> Result<Scalar, E> {
        Ok(Scalar::Text(value.chars().take(LONGEST_TEXT).collect()))
    }
    fn visit_unit<E>(self) -> Result<Scalar, E> {
        Ok(Scalar::Nothing)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Scalar, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Scalar::Nothing)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Scalar, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Scalar::Nothing)
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScalarVisitor)
    }
}

/// An object, or nothing where something else stands.
#[derive(Debug, Clone, Default)]
pub(super) struct Object<T>(pub(super) Option<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ObjectVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
            type Value = Object<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_bool<E>(self, _: bool) -> Result<Object<T>, E> {
                Ok(Object(None))
            }
            fn visit_i64<E>(self, _: i64) -> Result<Object<T>, E> {
                Ok(Object(None))
            }
            fn visit_u64<E>(self, _: u64) -> Result<Object<T>, E> {
                Ok(Object(None))
            }
            fn visit_f64<E>(self, _: f64) -> Result<Object<T>, E> {
                Ok(Object(None))
            }
            fn visit_str<E>(self, _: &str) -> Result<Object<T>, E> {
                Ok(Object(None))
            }
            fn visit_unit<E>(self) -> Result<Object<T>, E> {
                Ok(Object(None))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Object<T>, A::Error> {
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Object(None))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Object<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(|value| Object(Some(value)))
            }
        }
        deserializer.deserialize_any(ObjectVisitor(PhantomData))
    }
}

/// At most [`Entries::MOST`] of the entries of an object, by name; no entry where something else stands.
#[derive(Debug, Clone)]
pub(super) struct Entries<T>(pub(super) Vec<(String, T)>);

impl<T> Entries<T> {
    /// More than any file of Flent has in one object.
    pub(super) const MOST: usize = 4096;
}

impl<T> Default for Entries<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

struct Gathered<T>(Vec<(String, T)>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Gathered<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MapVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for MapVisitor<T> {
            type Value = Gathered<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Gathered<T>, A::Error> {
                let mut entries = Vec::new();
                while entries.len() < Entries::<T>::MOST {
                    let Some((name, value)) = map.next_entry::<String, T>()? else { return Ok(Gathered(entries)) };
                    entries.push((name, value));
                }
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Gathered(entries))
            }
        }
        deserializer.deserialize_map(MapVisitor(PhantomData))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Entries<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let gathered = Object::<Gathered<T>>::deserialize(deserializer)?;
        Ok(Self(gathered.0.map(|gathered| gathered.0).unwrap_or_default()))
    }
}
