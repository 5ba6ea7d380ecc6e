/** Builds the C addons before a test that needs them; a no-op when they are up to date. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

execFileSync('/bin/bash', [join(import.meta.dirname, '../../images/setup/native.sh')], { stdio: 'inherit' })
