//! Who a flow is.

use rrul_model::flow::{AddressFamily, Component, Direction, FlowId, FlowSpec, Parameter};
use rrul_model::flow_kind::FlowKind;
use rrul_model::marking::ServiceClass;
use schemars::JsonSchema;
use serde::Serialize;

/// Who a flow is, for labels and for choosing.
///
/// It is serialized as its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct FlowLabel {
    /// Its number in the recording.
    #[serde(skip)]
    pub id: FlowId,
    /// Name of the flow.
    pub name: String,
    /// Its type.
    #[serde(skip)]
    pub flow_type: String,
    /// Its component.
    #[serde(skip)]
    pub component: Component,
    /// Its direction, when it has one.
    #[serde(skip)]
    pub direction: Option<Direction>,
    /// Its family.
    #[serde(skip)]
    pub family: AddressFamily,
    /// Its class.
    #[serde(skip)]
    pub class: ServiceClass,
    /// What the plan says of it beside that: names and values of parameters.
    #[serde(skip)]
    pub parameters: Vec<(String, String)>,
}

impl FlowLabel {
    /// Returns what the flow does.
    pub fn kind(&self) -> FlowKind {
        FlowKind::named(&self.flow_type)
    }
}

impl From<&FlowSpec> for FlowLabel {
    fn from(flow: &FlowSpec) -> Self {
        let pair = |(name, value): (&String, &Parameter)| (name.clone(), words(value));
        Self {
            id: flow.id,
            name: flow.name.clone(),
            flow_type: flow.flow_type.clone(),
            component: flow.component,
            direction: flow.direction,
            family: flow.family,
            class: flow.class,
            parameters: flow.parameters.0.iter().map(pair).collect(),
        }
    }
}

/// The value of a parameter as a plan has it.
fn words(value: &Parameter) -> String {
    match value {
        Parameter::Flag(flag) => flag.to_string(),
        Parameter::Integer(count) => count.to_string(),
        Parameter::Number(number) => number.to_string(),
        Parameter::Text(text) => text.clone(),
    }
}
