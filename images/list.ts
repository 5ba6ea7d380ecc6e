/** Says which base images this checkout has and where: `node images/list.ts`. */
import { fileURLToPath } from 'node:url'
import { listNames, readName, treePath } from '../control/images/layout.ts'

const dir = fileURLToPath(new URL('../.runtime/images', import.meta.url))
for (const name of await listNames(dir)) {
  const digest = await readName(dir, name)
  if (digest) console.log(`${name}\t${treePath(dir, digest)}/rootfs`)
}
