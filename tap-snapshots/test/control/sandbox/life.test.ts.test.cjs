/* IMPORTANT
 * This snapshot file is auto-generated, but designed for humans.
 * It should be checked into source control and tracked carefully.
 * Re-generate by setting TAP_SNAPSHOT=1 and running tests.
 * Make sure to inspect the output below.  Do not ignore changes!
 */
'use strict'
exports[`test/control/sandbox/life.test.ts > TAP > the table is the one that is documented > must match snapshot 1`] = `
Array [
  "DEPLOYING -- deployed --> DEPLOYED",
  "DEPLOYING -- broke --> FAILED",
  "DEPLOYING -- delete --> DELETING",
  "DEPLOYING -- disable --> DEACTIVATING",
  "DEPLOYED -- lost --> DEPLOYING",
  "DEPLOYED -- redeploy --> DEPLOYING",
  "DEPLOYED -- broke --> FAILED",
  "DEPLOYED -- delete --> DELETING",
  "DEPLOYED -- disable --> DEACTIVATING",
  "FAILED -- delete --> DELETING",
  "FAILED -- redeploy --> DEPLOYING",
  "FAILED -- disable --> DEACTIVATING",
  "DEACTIVATING -- disabled --> DEACTIVATED",
  "DEACTIVATING -- delete --> DELETING",
  "DEACTIVATED -- enable --> DEPLOYING",
  "DEACTIVATED -- delete --> DELETING",
  "DELETING -- delete --> DELETING",
  "DELETING -- gone --> TERMINATED",
  "TERMINATED -- delete --> TERMINATED",
]
`
