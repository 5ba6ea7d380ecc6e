/* IMPORTANT
 * This snapshot file is auto-generated, but designed for humans.
 * It should be checked into source control and tracked carefully.
 * Re-generate by setting TAP_SNAPSHOT=1 and running tests.
 * Make sure to inspect the output below.  Do not ignore changes!
 */
'use strict'
exports[`test/control/mcp/mcp.test.ts > TAP > a tool for every operation that takes and answers JSON, with its arguments as declared > operations that are no tools 1`] = `
Array [
  "changelog.get",
  "drives.keys",
  "health.get",
  "mcp.call",
  "openapi.get",
]
`
