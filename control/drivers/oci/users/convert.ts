/**
 * Upper layers of versions before, whose marks are `trusted.overlay.*`: what is deleted, replaced or renamed in them stays
 * so under overlays of today. A crash at any point leaves a layer that can be converted again.
 */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fail } from '../../../../shared/errors.ts'
import { run, tool } from '../command.ts'
import type { MachineFiles } from '../layout.ts'
import { stageDir } from '../names.ts'
import { program } from '../native/programs.ts'
import { removeDirectory } from '../remove-directory.ts'
import { walkLayer } from './layers.ts'

const step = 'convert layer'

/** Puts a whole copy in the place of a directory or file whose content is elsewhere in the image. */
const settle = async (files: MachineFiles, image: string, path: string): Promise<void> => {
  await removeDirectory(files.settling)
  await mkdir(files.settling, { mode: 0o700 })
  const copy = join(files.settling, 'copy')
  const cp = [tool('cp'), '--archive', '--reflink=auto', '--no-target-directory', '--', `.${path}`, copy]
  const args = [stageDir, image, files.upper, ...cp]
  await run({ step, file: program('merged-view'), args, timeoutMs: 110_000 })
  await walkLayer(step, ['settle', copy, join(files.upper, path)])
}

/** Changes the marks of a machine's upper layer, while the machine does not run. `image` is the one it was made of. */
export const convertUpper = async (files: MachineFiles, image: string): Promise<void> => {
  // What is put in the place of a finding has none; more than once around means that the layer does not change.
  for (let round = 0; round < 3; round++) {
    const found = await walkLayer(step, ['convert', files.upper])
    if (found.length === 0) return removeDirectory(files.settling)
    for (const { path } of found) await settle(files, image, path)
  }
  throw fail('driver_failed', {
    driver: 'oci',
    step,
    reason: `${files.upper} has directories that lead elsewhere in its image and cannot be replaced by copies`,
  })
}
