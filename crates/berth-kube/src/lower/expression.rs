//! Expressions (CEL) that select devices, evaluated to yes, no or an error.
//!
//! Invariant: a device is seen as kube-scheduler shows it to expressions: `driver`, `attributes` and
//! `capacity` by domain and name, `allowMultipleAllocations`; with the functions for quantities and
//! versions that Kubernetes adds, the strings library and optional values. The crate `cel` checks no
//! types, so an expression that the API server would not have let in may give another answer than an
//! error. Not here: cost limits, URLs, addresses, regular expressions that find.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use berth_core::filter::facts::Text;
use berth_core::filter::facts::device::{Choice, Expressions, Truth};
use berth_core::filter::facts::exact::Exact;
use berth_core::filter::facts::inventory::Devices;
use cel::extractors::This;
use cel::objects::{Key, Map, Opaque};
use cel::{Context, Env, ExecutionError, Program, Value, extensions};
use k8s_openapi::api::resource::v1 as api;

use super::text;
use crate::quantity;

/// Evaluates expressions, each of which it compiles once.
pub struct Evaluator {
    environment: Arc<Env>,
    programs: BTreeMap<Text, Option<Program>>,
}

impl Default for Evaluator {
    fn default() -> Self {
        let mut env = Env::stdlib().with_optional_support(true);
        env.add_extension(extensions::strings)
            .expect("no other function has the names of the strings library");
        Self {
            environment: Arc::new(env),
            programs: BTreeMap::new(),
        }
    }
}

impl std::fmt::Debug for Evaluator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.programs.keys()).finish()
    }
}

/// Every expression that classes and claims without devices use.
#[must_use]
pub fn in_use(devices: &Devices) -> BTreeSet<Text> {
    let mut all: BTreeSet<Text> = devices.classes.values().flatten().cloned().collect();
    let waiting = devices
        .claims()
        .values()
        .filter(|claim| claim.allocation.is_none());
    for request in waiting.flat_map(|claim| &claim.requests) {
        match &request.choice {
            Choice::Exactly(ask) => all.extend(ask.selectors.iter().cloned()),
            Choice::FirstAvailable(asks) => {
                all.extend(
                    asks.iter()
                        .flat_map(|(_, ask)| ask.selectors.iter().cloned()),
                );
            }
            Choice::Unknown => {}
        }
    }
    all
}

impl Evaluator {
    /// Notes what `expression` says of every device of a slice.
    pub fn evaluate(
        &mut self,
        expression: &Text,
        slice: &api::ResourceSlice,
        into: &mut Expressions,
    ) {
        let environment = &self.environment;
        let program = self
            .programs
            .entry(expression.clone())
            .or_insert_with(|| environment.compile(expression).ok());
        let name = text(slice.metadata.name.as_deref().unwrap_or_default());
        for device in slice.spec.devices.iter().flatten() {
            let truth = program.as_ref().map_or(Truth::Error, |program| {
                truth(environment, program, expression, &slice.spec.driver, device)
            });
            into.set(expression, &name, &text(&device.name), truth);
        }
    }
}

fn truth(
    environment: &Arc<Env>,
    program: &Program,
    expression: &str,
    driver: &str,
    device: &api::Device,
) -> Truth {
    let mut context = Context::with_env(Arc::clone(environment));
    let functions = add_functions(&mut context);
    functions.expect("no other function has the names of Kubernetes' own");
    let Some(device) = value(expression, driver, device) else {
        return Truth::Error;
    };
    context.add_variable_from_value("device", device);
    match program.execute(&context) {
        Ok(Value::Bool(true)) => Truth::Yes,
        Ok(Value::Bool(false)) => Truth::No,
        Ok(_) | Err(_) => Truth::Error,
    }
}

type Domains = BTreeMap<String, BTreeMap<String, Value>>;

/// The device as expressions see it; `None` if a version can't be read.
fn value(expression: &str, driver: &str, device: &api::Device) -> Option<Value> {
    let (mut attributes, mut capacity) = (Domains::new(), Domains::new());
    // A domain that the device doesn't have is empty, and not an error.
    for domain in literals(expression) {
        attributes.entry(domain.to_owned()).or_default();
        capacity.entry(domain.to_owned()).or_default();
    }
    for (name, attribute) in device.attributes.iter().flatten() {
        let (domain, name) = name.split_once('/').unwrap_or((driver, name));
        let value = attribute_value(attribute)?;
        attributes
            .entry(domain.to_owned())
            .or_default()
            .insert(name.to_owned(), value);
    }
    for (name, one) in device.capacity.iter().flatten() {
        let (domain, name) = name.split_once('/').unwrap_or((driver, name));
        let value = opaque(Quantity(quantity::parse(&one.value.0).ok()?));
        capacity
            .entry(domain.to_owned())
            .or_default()
            .insert(name.to_owned(), value);
    }
    let is_shared = device.allow_multiple_allocations == Some(true);
    Some(map([
        ("driver".to_owned(), Value::from(driver)),
        (
            "allowMultipleAllocations".to_owned(),
            Value::Bool(is_shared),
        ),
        ("attributes".to_owned(), domains(attributes)),
        ("capacity".to_owned(), domains(capacity)),
    ]))
}

fn attribute_value(from: &api::DeviceAttribute) -> Option<Value> {
    let list = |all: Vec<Value>| Some(Value::List(Arc::new(all)));
    if let Some(all) = &from.ints {
        return list(all.iter().map(|one| Value::Int(*one)).collect());
    }
    if let Some(all) = &from.bools {
        return list(all.iter().map(|one| Value::Bool(*one)).collect());
    }
    if let Some(all) = &from.strings {
        return list(all.iter().map(|one| Value::from(one.as_str())).collect());
    }
    let number = from.int.map(Value::Int);
    let flag = || from.bool.map(Value::Bool);
    let words = || from.string.as_deref().map(Value::from);
    let version = || {
        let version = semver::Version::parse(from.version.as_ref()?).ok()?;
        Some(opaque(Version(version)))
    };
    number.or_else(flag).or_else(words).or_else(version)
}

fn domains(from: Domains) -> Value {
    map(from.into_iter().map(|(domain, names)| (domain, map(names))))
}

fn map(from: impl IntoIterator<Item = (String, Value)>) -> Value {
    let pairs = from.into_iter().map(|(key, value)| (Key::from(key), value));
    let map: HashMap<Key, Value> = pairs.collect();
    Value::Map(Map { map: Arc::new(map) })
}

fn opaque(from: impl Opaque) -> Value {
    Value::Opaque(Arc::new(from))
}

/// The texts in quotes, which may name domains.
fn literals(expression: &str) -> impl Iterator<Item = &str> {
    let parts = |quote: char| expression.split(quote).skip(1).step_by(2);
    parts('"').chain(parts('\''))
}

/// An amount, as expressions compare it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Quantity(Exact);

impl Opaque for Quantity {
    fn runtime_type_name(&self) -> &'static str {
        "kubernetes.Quantity"
    }
}

/// A semantic version, as expressions compare it.
#[derive(Debug, Clone)]
struct Version(semver::Version);

impl PartialEq for Version {
    fn eq(&self, other: &Self) -> bool {
        self.0.cmp_precedence(&other.0).is_eq()
    }
}

impl Eq for Version {}

impl Opaque for Version {
    fn runtime_type_name(&self) -> &'static str {
        "kubernetes.Semver"
    }
}

fn wrong(function: &str) -> ExecutionError {
    ExecutionError::function_error(function, "no such overload")
}

/// One of Kubernetes' own values.
fn own<'a, T: 'static>(value: &'a Value, function: &str) -> Result<&'a T, ExecutionError> {
    match value {
        Value::Opaque(inner) => inner.downcast_ref::<T>().ok_or_else(|| wrong(function)),
        _ => Err(wrong(function)),
    }
}

fn compare(this: &Value, other: &Value, name: &str) -> Result<std::cmp::Ordering, ExecutionError> {
    if let Ok(this) = own::<Quantity>(this, name) {
        return Ok(this.0.cmp(&own::<Quantity>(other, name)?.0));
    }
    let (this, other) = (own::<Version>(this, name)?, own::<Version>(other, name)?);
    Ok(this.0.cmp_precedence(&other.0))
}

fn add_functions(context: &mut Context<'_, '_>) -> Result<(), cel::DeclarationError> {
    type Answer = Result<Value, ExecutionError>;
    context.add_function("quantity", |from: Arc<String>| -> Answer {
        let read = quantity::parse(&from);
        let read = read.map_err(|why| ExecutionError::function_error("quantity", why))?;
        Ok(opaque(Quantity(read)))
    })?;
    context.add_function("isQuantity", |from: Arc<String>| {
        quantity::parse(&from).is_ok()
    })?;
    context.add_function("semver", |from: Arc<String>| -> Answer {
        let read = semver::Version::parse(&from);
        let read = read.map_err(|why| ExecutionError::function_error("semver", why))?;
        Ok(opaque(Version(read)))
    })?;
    context.add_function("isSemver", |from: Arc<String>| {
        semver::Version::parse(&from).is_ok()
    })?;
    context.add_function(
        "compareTo",
        |This(this): This<Value>, other: Value| -> Answer {
            let order = compare(&this, &other, "compareTo")?;
            Ok(Value::Int(order as i64))
        },
    )?;
    context.add_function(
        "isGreaterThan",
        |This(this): This<Value>, other: Value| -> Answer {
            Ok(Value::Bool(
                compare(&this, &other, "isGreaterThan")?.is_gt(),
            ))
        },
    )?;
    context.add_function(
        "isLessThan",
        |This(this): This<Value>, other: Value| -> Answer {
            Ok(Value::Bool(compare(&this, &other, "isLessThan")?.is_lt()))
        },
    )?;
    add_parts(context)
}

fn add_parts(context: &mut Context<'_, '_>) -> Result<(), cel::DeclarationError> {
    type Answer = Result<Value, ExecutionError>;
    context.add_function("asInteger", |This(this): This<Value>| -> Answer {
        let amount = own::<Quantity>(&this, "asInteger")?.0;
        let units = amount.units();
        let is_whole = Exact::from_units(units) == amount;
        is_whole
            .then_some(Value::Int(units))
            .ok_or_else(|| wrong("asInteger"))
    })?;
    context.add_function("isInteger", |This(this): This<Value>| -> Answer {
        let amount = own::<Quantity>(&this, "isInteger")?.0;
        Ok(Value::Bool(Exact::from_units(amount.units()) == amount))
    })?;
    context.add_function("sign", |This(this): This<Value>| -> Answer {
        let nano = own::<Quantity>(&this, "sign")?.0.nano();
        Ok(Value::Int(nano.signum() as i64))
    })?;
    for (name, part) in [
        (
            "major",
            (|version: &semver::Version| version.major) as fn(&semver::Version) -> u64,
        ),
        ("minor", |version| version.minor),
        ("patch", |version| version.patch),
    ] {
        context.add_function(name, move |This(this): This<Value>| -> Answer {
            let number = part(&own::<Version>(&this, name)?.0);
            i64::try_from(number)
                .map(Value::Int)
                .map_err(|_| wrong(name))
        })?;
    }
    Ok(())
}
