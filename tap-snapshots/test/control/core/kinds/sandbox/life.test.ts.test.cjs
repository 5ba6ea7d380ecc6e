/* IMPORTANT
 * This snapshot file is auto-generated, but designed for humans.
 * It should be checked into source control and tracked carefully.
 * Re-generate by setting TAP_SNAPSHOT=1 and running tests.
 * Make sure to inspect the output below.  Do not ignore changes!
 */
'use strict'
exports[`test/control/core/kinds/sandbox/life.test.ts > TAP > the table is the one that is documented > must match snapshot 1`] = `
Array [
  "DEPLOYING -- waiting --> DEPLOYING",
  "DEPLOYING -- deployed --> DEPLOYED",
  "DEPLOYING -- broke --> FAILED",
  "DEPLOYING -- redeploy --> DEPLOYING",
  "DEPLOYING -- restart --> DEPLOYING",
  "DEPLOYING -- disable --> DEACTIVATING",
  "DEPLOYING -- delete --> DELETING",
  "DEPLOYING -- expire --> DELETING",
  "DEPLOYED -- lost --> DEPLOYING",
  "DEPLOYED -- redeploy --> DEPLOYING",
  "DEPLOYED -- restart --> DEPLOYING",
  "DEPLOYED -- disable --> DEACTIVATING",
  "DEPLOYED -- delete --> DELETING",
  "DEPLOYED -- expire --> DELETING",
  "FAILED -- redeploy --> DEPLOYING",
  "FAILED -- restart --> DEPLOYING",
  "FAILED -- disable --> DEACTIVATING",
  "FAILED -- delete --> DELETING",
  "FAILED -- expire --> DELETING",
  "DEACTIVATING -- gone --> DEACTIVATED",
  "DEACTIVATING -- enable --> DEPLOYING",
  "DEACTIVATING -- delete --> DELETING",
  "DEACTIVATING -- expire --> DELETING",
  "DEACTIVATED -- enable --> DEPLOYING",
  "DEACTIVATED -- delete --> DELETING",
  "DEACTIVATED -- expire --> DELETING",
  "DELETING -- gone --> TERMINATED",
  "DELETING -- delete --> DELETING",
  "TERMINATED -- delete --> TERMINATED",
]
`
