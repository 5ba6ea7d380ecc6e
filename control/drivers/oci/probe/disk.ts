/** Whether a disk of a sandbox has an end: one is made and filled. */
import { mkdir, readFile, rm, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openBlanks } from '../disk/blanks.ts'
import { blocksOf } from '../disk/shape.ts'
import { run } from '../command.ts'
import { openStage, stageDir } from '../names.ts'
import { program } from '../native/programs.ts'
import { stageCommand } from '../start.ts'
import type { Check } from './check.ts'

const trial = { mb: 32, room: 8 } as const
const fill = `dd if=/dev/zero of=${stageDir}/root/fill bs=1M count=${trial.mb} oflag=sync || true; df -B 1M ${stageDir}/root`

/** As a machine's, with everything under it: loop device, file system, overlay; and bounded like one that was made ahead. */
export const diskQuota: Check = {
  required: false,
  title: 'a disk of its own for each sandbox (an ext4 file on a loop device, direct I/O)',
  next:
    'needs e2fsprogs, /dev/loop-control and a data directory on a file system with direct I/O, such as ext4, xfs or btrfs; ' +
    'until then sandboxes share the disk without quota, and one can fill it',
  async run({ scratch, clock, signal }) {
    // Nothing can be promised out of what is not known.
    if ((await statfs(scratch)).blocks === 0) throw new Error('its file system does not say how much it holds')
    const dir = join(scratch, 'disk')
    const image = join(dir, 'image')
    await mkdir(join(dir, 'names'), { recursive: true })
    await mkdir(image)
    await openStage()
    const blank = await openBlanks(join(dir, 'blanks')).of(trial.mb)
    const files = { dir, starter: join(dir, 'starter'), output: join(dir, 'output.log'), disk: join(dir, 'disk.img') }
    await writeFile(join(dir, 'names', 'probe'), '')
    const stage = {
      files,
      stdin: undefined,
      usersOf: undefined,
      openFiles: undefined,
      image,
      disk: { blocks: blocksOf(trial), blank },
      bundleDir: image,
      releasesDir: undefined,
      privatePlace: false,
      launch: ['/bin/sh', '-c', fill],
    }
    const start = clock.elapsed()
    try {
      await run({ step: 'disk', file: program('start-machine'), args: stageCommand(stage), signal }).catch(
        async error => {
          signal?.throwIfAborted()
          throw new Error((await readFile(files.output, 'utf8')).trim().slice(-500) || String(error))
        },
      )
      const said = await readFile(files.output, 'utf8')
      const ms = Math.round(clock.elapsed() - start)
      if (!/No space left on device/.test(said)) throw new Error(`it has no end: ${said.trim().slice(-300)}`)
      return `full when it was full, ${ms} ms`
    } finally {
      await rm(dir, { recursive: true, force: true })
    }
  },
}
