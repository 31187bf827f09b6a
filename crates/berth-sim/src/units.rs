//! Amounts as people write them: `500m` of CPU, `64GiB`, `2h30m`, half a GPU.
//!
//! One grammar for every text that Berth reads by hand: native traces and scenarios. Invariant: no
//! text panics, and what is out of range or finer than the unit is refused, never rounded away.
//! Not here: which file and line it stood in; the caller adds that.

use berth_core::amount::{Bytes, GpuUnits, MilliCpu};
use berth_core::limits;
use berth_core::model::gpu::GpuMode;
use berth_core::time::Span;

use crate::workload::GpuAsk;

/// What should have stood there.
pub type Expected = &'static str;

const CPU: Expected = "CPU in cores (`4`, `0.5`) or thousandths of one (`500m`)";
const BYTES: Expected = "an amount of memory with its unit (`64GiB`, `512MiB`, `16G`) or in bytes";
const SPAN: Expected = "a time with its units (`90s`, `10m`, `2h30m`, `1d`) or in seconds";
const GPU: Expected = "a GPU request: `0`, whole GPUs (`2`), a share (`0.5`, `0.5+10GiB`, `10GiB`), \
                       `mig:PROFILE`, `vgpu:PROFILE` or `passthrough:N`";
const MODE: Expected = "`exclusive`, `time-slice`, `mps`, `mig`, `vgpu` or `passthrough`";

/// CPU: cores, or `m` for thousandths of one.
///
/// # Errors
/// What was expected instead.
pub fn cpu(text: &str) -> Result<MilliCpu, Expected> {
    let milli = match text.strip_suffix('m') {
        Some(milli) => decimal(milli, 0),
        None => decimal(text, 3),
    };
    bounded(milli, limits::CPU_MAX.0).map(MilliCpu).ok_or(CPU)
}

/// Memory: bytes, or with a binary or decimal unit.
///
/// # Errors
/// What was expected instead.
pub fn bytes(text: &str) -> Result<Bytes, Expected> {
    let (number, unit) = split_unit(text);
    let scale: i128 = match unit {
        "" | "B" => 1,
        "Ki" | "KiB" => 1 << 10,
        "Mi" | "MiB" => 1 << 20,
        "Gi" | "GiB" => 1 << 30,
        "Ti" | "TiB" => 1 << 40,
        "K" | "k" | "KB" | "kB" => 1_000,
        "M" | "MB" => 1_000_000,
        "G" | "GB" => 1_000_000_000,
        "T" | "TB" => 1_000_000_000_000,
        _ => return Err(BYTES),
    };
    // Six decimals of a unit; what is left below a byte is dropped.
    let bytes = decimal(number, 6).map(|millionths| millionths * scale / 1_000_000);
    bounded(bytes, limits::MEMORY_MAX.0).map(Bytes).ok_or(BYTES)
}

/// A span: seconds, or one or more numbers each with `ms`, `s`, `m`, `h` or `d`.
///
/// # Errors
/// What was expected instead.
pub fn span(text: &str) -> Result<Span, Expected> {
    let ms_max = Span::from_days(100 * 366).0;
    let mut total: i128 = 0;
    let mut rest = text;
    if rest.is_empty() {
        return Err(SPAN);
    }
    while !rest.is_empty() {
        let unit_at = rest
            .find(|c: char| c.is_ascii_alphabetic())
            .unwrap_or(rest.len());
        let (number, tail) = rest.split_at(unit_at);
        let next = tail
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(next);
        let scale_ms: i128 = match unit {
            "ms" => 1,
            "s" => 1_000,
            "m" | "min" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            "" if rest == text => 1_000,
            _ => return Err(SPAN),
        };
        let thousandths = decimal(number, 3).ok_or(SPAN)?;
        total += thousandths * scale_ms / 1_000;
        rest = tail;
    }
    bounded(Some(total), ms_max).map(Span).ok_or(SPAN)
}

/// What a pod asks of the GPUs.
///
/// # Errors
/// What was expected instead.
pub fn gpu(text: &str) -> Result<GpuAsk, Expected> {
    let count = |text: &str| {
        let gpus_max = limits::GPUS_PER_NODE_MAX as i64;
        let count = bounded(decimal(text, 0), gpus_max).and_then(|count| u8::try_from(count).ok());
        count.filter(|&count| count > 0).ok_or(GPU)
    };
    let profile = |text: &str| {
        if text.is_empty() {
            Err(GPU)
        } else {
            Ok(text.to_owned())
        }
    };
    if let Some((kind, what)) = text.split_once(':') {
        return match kind {
            "mig" => profile(what).map(GpuAsk::Mig),
            "vgpu" => profile(what).map(GpuAsk::Vgpu),
            "passthrough" => count(what).map(GpuAsk::Passthrough),
            _ => Err(GPU),
        };
    }
    if text.is_empty() || text == "0" {
        return Ok(GpuAsk::None);
    }
    if let Some((compute, memory)) = text.split_once('+') {
        return Ok(GpuAsk::Share {
            compute: share(compute)?,
            memory: nonzero_bytes(memory)?,
        });
    }
    if text.ends_with('B') || text.ends_with('i') {
        return Ok(GpuAsk::Share {
            compute: GpuUnits::ZERO,
            memory: nonzero_bytes(text)?,
        });
    }
    match decimal(text, 4) {
        Some(units) if units % 10_000 == 0 => {
            count(text.split('.').next().unwrap_or(text)).map(GpuAsk::Whole)
        }
        Some(units) if (1..10_000).contains(&units) => Ok(GpuAsk::Share {
            compute: share(text)?,
            memory: Bytes::ZERO,
        }),
        _ => Err(GPU),
    }
}

/// A GPU request as [`gpu`] reads it.
#[must_use]
pub fn write_gpu(ask: &GpuAsk) -> String {
    match ask {
        GpuAsk::None => "0".to_owned(),
        GpuAsk::Whole(count) => count.to_string(),
        GpuAsk::Share { compute, memory } if memory.is_zero() => compute.to_string(),
        GpuAsk::Share { compute, memory } if compute.is_zero() => format!("{}B", memory.0),
        GpuAsk::Share { compute, memory } => format!("{compute}+{}B", memory.0),
        GpuAsk::Mig(profile) => format!("mig:{profile}"),
        GpuAsk::Vgpu(profile) => format!("vgpu:{profile}"),
        GpuAsk::Passthrough(count) => format!("passthrough:{count}"),
    }
}

/// GPUs in total, of a limit: `12`, `0.5`.
///
/// # Errors
/// What was expected instead.
pub fn gpus(text: &str) -> Result<GpuUnits, Expected> {
    bounded(decimal(text, 4), i64::from(u32::MAX) * 10_000)
        .map(GpuUnits)
        .ok_or("a number of GPUs (`12`, `0.5`)")
}

/// A weight: a whole number.
///
/// # Errors
/// What was expected instead.
pub fn weight(text: &str) -> Result<u32, Expected> {
    text.parse().map_err(|_| "a weight (a whole number, `1`)")
}

/// A part of a whole, in thousandths: `0.8` is 800.
///
/// # Errors
/// What was expected instead.
pub fn part_permille(text: &str) -> Result<u16, Expected> {
    bounded(decimal(text, 3), 1000)
        .and_then(|permille| u16::try_from(permille).ok())
        .ok_or("a part of the whole, 0 to 1, with at most three decimals")
}

/// How GPUs are offered.
///
/// # Errors
/// What was expected instead.
pub fn mode(text: &str) -> Result<GpuMode, Expected> {
    match text {
        "exclusive" => Ok(GpuMode::Exclusive),
        "time-slice" => Ok(GpuMode::TimeSlice),
        "mps" => Ok(GpuMode::Mps),
        "mig" => Ok(GpuMode::Mig),
        "vgpu" => Ok(GpuMode::Vgpu),
        "passthrough" => Ok(GpuMode::Passthrough),
        _ => Err(MODE),
    }
}

fn share(text: &str) -> Result<GpuUnits, Expected> {
    let units = bounded(decimal(text, 4), GpuUnits::ONE_GPU.0).ok_or(GPU)?;
    if units == 0 {
        Err(GPU)
    } else {
        Ok(GpuUnits(units))
    }
}

fn nonzero_bytes(text: &str) -> Result<Bytes, Expected> {
    bytes(text).ok().filter(|bytes| !bytes.is_zero()).ok_or(GPU)
}

fn split_unit(text: &str) -> (&str, &str) {
    let at = text
        .find(|c: char| c.is_ascii_alphabetic())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    (number.trim_end(), unit)
}

/// A decimal number times ten to the power of `decimals`; `None` if it isn't one, is negative, has
/// more decimals than that or more than 18 digits before the point.
fn decimal(text: &str, decimals: usize) -> Option<i128> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let part = part.trim_end_matches('0');
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let sound = !whole.is_empty() && whole.len() <= 18 && digits(whole) && digits(part);
    if !sound || part.len() > decimals || text.ends_with('.') {
        return None;
    }
    format!("{whole}{part:0<decimals$}").parse().ok()
}

fn bounded(number: Option<i128>, most: i64) -> Option<i64> {
    i64::try_from(number?)
        .ok()
        .filter(|number| (0..=most).contains(number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn amounts_are_read_as_people_write_them() {
        assert_eq!(cpu("4"), Ok(MilliCpu(4000)));
        assert_eq!(cpu("0.25"), Ok(MilliCpu(250)));
        assert_eq!(cpu("250m"), Ok(MilliCpu(250)));
        assert_eq!(bytes("1.5GiB"), Ok(Bytes(3 << 29)));
        assert_eq!(bytes("16 G"), Ok(Bytes(16_000_000_000)));
        assert_eq!(bytes("12"), Ok(Bytes(12)));
        assert_eq!(span("90"), Ok(Span(90_000)));
        assert_eq!(span("2h30m"), Ok(Span(9_000_000)));
        assert_eq!(span("1.5s"), Ok(Span(1_500)));
        assert_eq!(span("250ms"), Ok(Span(250)));
        assert_eq!(gpus("0.5"), Ok(GpuUnits(5_000)));
    }

    #[test]
    fn gpu_requests_have_one_spelling_each() {
        let half = GpuUnits(5_000);
        let check = |text: &str, ask: GpuAsk| {
            assert_eq!(gpu(text).as_ref(), Ok(&ask), "{text}");
            assert_eq!(gpu(&write_gpu(&ask)), Ok(ask));
        };
        check("0", GpuAsk::None);
        check("", GpuAsk::None);
        check("8", GpuAsk::Whole(8));
        check("1.0", GpuAsk::Whole(1));
        check(
            "0.5",
            GpuAsk::Share {
                compute: half,
                memory: Bytes::ZERO,
            },
        );
        check(
            "0.5+10GiB",
            GpuAsk::Share {
                compute: half,
                memory: Bytes::from_gib(10),
            },
        );
        check(
            "10GiB",
            GpuAsk::Share {
                compute: GpuUnits::ZERO,
                memory: Bytes::from_gib(10),
            },
        );
        check("mig:1g.10gb", GpuAsk::Mig("1g.10gb".to_owned()));
        check("vgpu:A40-8Q", GpuAsk::Vgpu("A40-8Q".to_owned()));
        check("passthrough:2", GpuAsk::Passthrough(2));
    }

    #[test]
    fn what_is_out_of_range_or_too_fine_is_refused() {
        for text in [
            "-1",
            "1e3",
            "nan",
            "",
            ".",
            "1.",
            "0.0001",
            "9999999999",
            "4 cores",
            "0x4",
        ] {
            assert!(cpu(text).is_err(), "{text}");
        }
        for text in ["-1", "1 PiB2", "GiB", "99999999TiB", "1,5GiB"] {
            assert!(bytes(text).is_err(), "{text}");
        }
        for text in ["", "h", "1x", "2h30", "-5s", "99999999d", "1h-2m"] {
            assert!(span(text).is_err(), "{text}");
        }
        for text in [
            "1.5",
            "33",
            "-1",
            "0.00001",
            "mig:",
            "passthrough:0",
            "x:1",
            "0+0",
            "0.5+",
        ] {
            assert!(gpu(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".{0,24}") {
            let _ = (cpu(&text), bytes(&text), span(&text), gpu(&text), gpus(&text), mode(&text));
        }

        #[test]
        fn numbers_with_odd_tails_do_not_panic(number in "[0-9.]{0,30}", tail in "[a-zA-Z:+]{0,4}") {
            let text = format!("{number}{tail}");
            let _ = (cpu(&text), bytes(&text), span(&text), gpu(&text), gpus(&text));
        }
    }
}
