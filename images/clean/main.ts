/** `make clean`: removes what was built in this checkout, but for what sandboxes and servers use. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { clean } from './clean.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const built = ['bundles', 'images'].some(name => existsSync(join(root, '.runtime', name)))

if (built && process.geteuid?.() !== 0) {
  console.error('hutch: only root sees which images and bundles are in use; run: sudo make clean')
  process.exitCode = 1
} else for (const line of clean(root)) console.log(`clean: ${line}`)
