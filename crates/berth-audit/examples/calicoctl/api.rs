//! As much of a Kubernetes API as `calicoctl ipam check` asks for: lists of objects, and two
//! settings, as JSON over HTTP on loopback.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

/// Objects by kind.
type Objects = BTreeMap<String, Vec<Value>>;

/// A listening API; it ends with the process.
pub(crate) struct Api {
    objects: Arc<Mutex<Objects>>,
    url: String,
}

impl Api {
    pub(crate) fn start() -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let url = format!("http://{}", listener.local_addr()?);
        let objects = Arc::new(Mutex::new(Objects::new()));
        let served = Arc::clone(&objects);
        std::thread::spawn(move || {
            for stream in listener.incoming().filter_map(Result::ok) {
                let served = Arc::clone(&served);
                // A caller that hangs up ends its own thread only.
                std::thread::spawn(move || answer_all(stream, &served));
            }
        });
        Ok(Self { objects, url })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Answers from these objects from now on.
    pub(crate) fn serve(&self, objects: &[Value]) {
        let mut by_kind = Objects::new();
        for object in objects {
            let kind = object["kind"].as_str().unwrap_or_default().to_owned();
            by_kind.entry(kind).or_default().push(object.clone());
        }
        let mut served = self
            .objects
            .lock()
            .expect("no thread panics while it holds this");
        *served = by_kind;
    }
}

fn answer_all(stream: TcpStream, served: &Mutex<Objects>) -> io::Result<()> {
    let mut writer = stream.try_clone()?;
    let mut reader = BufReader::new(stream);
    loop {
        let mut request = String::new();
        if reader.read_line(&mut request)? == 0 {
            return Ok(());
        }
        let mut header = String::from("x");
        while !header.trim().is_empty() {
            header.clear();
            reader.read_line(&mut header)?;
        }
        let path = request.split(' ').nth(1).unwrap_or_default();
        let path = path.split('?').next().unwrap_or_default();
        let objects = served.lock().expect("no thread panics while it holds this");
        let (status, body) = answer(path, &objects);
        drop(objects);
        let body = body.to_string();
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        writer.write_all(head.as_bytes())?;
        writer.write_all(body.as_bytes())?;
    }
}

const CALICO: &str = "crd.projectcalico.org/v1";

fn answer(path: &str, objects: &Objects) -> (&'static str, Value) {
    const LISTS: [(&str, &str, &str); 6] = [
        ("v1", "nodes", "Node"),
        ("v1", "pods", "Pod"),
        ("v1", "services", "Service"),
        (CALICO, "ippools", "IPPool"),
        (CALICO, "ipamblocks", "IPAMBlock"),
        (CALICO, "ipamhandles", "IPAMHandle"),
    ];
    let name = path.rsplit('/').next().unwrap_or_default();
    if let Some((version, _, kind)) = LISTS.iter().find(|(_, plural, _)| *plural == name) {
        let items = objects.get(*kind).cloned().unwrap_or_default();
        let list = json!({
            "apiVersion": version, "kind": format!("{kind}List"), "items": items,
            "metadata": {"resourceVersion": "1"},
        });
        return ("200 OK", list);
    }
    let setting = |kind: &str, spec: Value| {
        json!({
            "apiVersion": CALICO, "kind": kind, "spec": spec,
            "metadata": {"name": "default", "resourceVersion": "1"},
        })
    };
    if path.ends_with("/clusterinformations/default") {
        let spec = json!({"clusterGUID": "x", "datastoreReady": true, "calicoVersion": "v3.31.0"});
        return ("200 OK", setting("ClusterInformation", spec));
    }
    if path.ends_with("/kubecontrollersconfigurations/default") {
        return (
            "200 OK",
            setting("KubeControllersConfiguration", json!({"controllers": {}})),
        );
    }
    let missing = json!({
        "apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "NotFound",
        "message": format!("{path} is not served"), "code": 404,
    });
    ("404 Not Found", missing)
}
