//! Berth's custom resources in a cluster: applied, and waited for until they are served.

use std::time::Duration;

use berth_api::definitions as all;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams};
use kube::runtime::conditions::is_crd_established;
use kube::runtime::wait::await_condition;
use kube::{Api, Client, ResourceExt as _};
use tokio::time::timeout;

/// The field manager of what is installed.
const MANAGER: &str = "berth-install";

/// The longest that an API server may take to serve a definition.
const SERVED_WITHIN: Duration = Duration::from_secs(30);

/// A definition that is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    pub name: String,
}

/// Why definitions could not be installed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    #[error("{name}: {why}")]
    Api { name: String, why: kube::Error },
    #[error("{name} is not served after {SERVED_WITHIN:?}")]
    NotServed { name: String },
}

/// Applies every definition, and waits until it is served.
///
/// # Errors
/// The first that can't be applied, or isn't served in time.
pub async fn definitions(client: &Client) -> Result<Vec<Installed>, InstallError> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let parameters = PatchParams::apply(MANAGER).force();
    let mut installed = Vec::new();
    for definition in all() {
        let name = definition.name_any();
        let applied = api
            .patch(&name, &parameters, &Patch::Apply(&definition))
            .await;
        applied.map_err(|why| InstallError::Api {
            name: name.clone(),
            why,
        })?;
        let served = await_condition(api.clone(), &name, is_crd_established());
        match timeout(SERVED_WITHIN, served).await {
            Ok(Ok(_)) => installed.push(Installed { name }),
            Ok(Err(_)) | Err(_) => return Err(InstallError::NotServed { name }),
        }
    }
    Ok(installed)
}
