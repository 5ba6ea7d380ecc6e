// Throws one clear line where Hutch cannot run. Old syntax on purpose: an older Node has to read it.
'use strict'
var needed = { node: 24, glibc: [2, 34] }

/** What is wrong with this Node or machine, or undefined. */
function problem() {
  if (Number(process.versions.node.split('.')[0]) < needed.node)
    return 'needs Node ' + needed.node + ' or newer, and this is Node ' + process.version + '; see https://nodejs.org'
  if (process.platform !== 'linux' || process.arch !== 'x64')
    return 'this package is for Linux on x64, and this is ' + process.platform + ' on ' + process.arch
  // Otherwise the report looks up the names of all connections.
  process.report.excludeNetwork = true
  var glibc = process.report.getReport().header.glibcVersionRuntime
  var parts = String(glibc).split('.').map(Number)
  if (!glibc || parts[0] < needed.glibc[0] || (parts[0] === needed.glibc[0] && parts[1] < needed.glibc[1]))
    return 'needs glibc ' + needed.glibc.join('.') + ' or newer, and this machine has ' + (glibc || 'another C library')
}

var found = problem()
if (found) throw new Error('hutch: ' + found)
exports.needed = needed
