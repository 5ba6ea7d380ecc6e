#!/usr/bin/env node
// The command of the package. Old syntax on purpose: an older Node must be able to read it and say one clear line.
'use strict'
try {
  require('./check-platform.cjs')
} catch (error) {
  process.stderr.write(error.message + '\n')
  process.exit(1)
}
void import('./control/main.js')
