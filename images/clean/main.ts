/** `make clean`: removes what was built in this checkout, but for what sandboxes and servers use; and the instance it is told. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { messageOf } from '../../shared/errors.ts'
import { clean } from './clean.ts'
import { removeInstance, unattended } from './instances.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const built = ['bundles', 'images'].some(name => existsSync(join(root, '.runtime', name)))
const isRoot = process.geteuid?.() === 0
const [instance] = process.argv.slice(2)

const say = (lines: readonly string[]): void => {
  for (const line of lines) console.log(`clean: ${line}`)
}

const main = async (): Promise<void> => {
  if ((built || instance) && !isRoot)
    throw new Error('only root sees which images, bundles and sandboxes are in use; run: sudo make clean')
  if (instance) return say([await removeInstance(instance)])
  // The packages that look for instances are among what is removed.
  const left = isRoot ? await unattended() : []
  say([...clean(root), ...left])
}

main().catch((error: unknown) => {
  console.error(`hutch: ${messageOf(error)}`)
  process.exitCode = 1
})
