/** Whether a disk of a sandbox has an end: one is made and filled. */
import { mkdir, readFile, rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { openBlanks } from '../disk/blanks.ts'
import { projectDisks } from '../disk/project-disk.ts'
import { joinProject } from '../disk/project-quota.ts'
import { blocksOf } from '../disk/shape.ts'
import { run } from '../command.ts'
import { filesOf, type MachineFiles } from '../layout.ts'
import { openStage, stageDir } from '../names.ts'
import { program } from '../native/programs.ts'
import { stageCommand, tellStart, type StageInput } from '../start.ts'
import { type Check, type ProbeContext } from './check.ts'

const trial = { mb: 32, room: 8 } as const
const fill = `dd if=/dev/zero of=${stageDir}/root/fill bs=1M count=${trial.mb} oflag=sync || true; df -B 1M ${stageDir}/root`

/** What it says when a machine with these files is filled: file systems, overlay and all. */
const filled = async (
  files: MachineFiles,
  disk: StageInput['disk'],
  { scratch, signal }: ProbeContext,
): Promise<string> => {
  const image = join(scratch, 'image')
  await mkdir(image, { recursive: true })
  await openStage()
  const stage = {
    files,
    usersOf: undefined,
    openFiles: undefined,
    image,
    generic: false,
    disk,
    bundleDir: image,
    releasesDir: undefined,
    privatePlace: false,
    hidden: undefined,
    launch: ['/bin/sh', '-c', fill],
  }
  const input = tellStart({ etc: { probe: '' } })
  await run({ step: 'disk', file: program('start-machine'), args: stageCommand(stage), input, signal }).catch(
    async error => {
      signal?.throwIfAborted()
      throw new Error((await readFile(files.output, 'utf8')).trim().slice(-500) || String(error))
    },
  )
  return readFile(files.output, 'utf8')
}

/** Throws unless it was full before all of the trial was written. */
const needEnd = (said: string): void => {
  if (!/No space left on device|Disk quota exceeded/.test(said))
    throw new Error(`it has no end: ${said.trim().slice(-300)}`)
}

const madeFiles = async (scratch: string, id: string): Promise<MachineFiles> => {
  // Nobody prints much here.
  const files = { ...filesOf(scratch, id), output: join(scratch, `${id}.log`) }
  await mkdir(files.dir, { recursive: true })
  return files
}

/** Bounded like one that was made ahead. */
export const fileQuota: Check = {
  required: false,
  title: 'a disk of its own for each sandbox (an ext4 file on a loop device, direct I/O)',
  next:
    'needs e2fsprogs, /dev/loop-control and a data directory on a file system with direct I/O, such as ext4, xfs or btrfs; ' +
    'until then sandboxes share the disk without quota, and one can fill it',
  async run(probe) {
    const { scratch, clock } = probe
    // Nothing can be promised out of what is not known.
    if ((await statfs(scratch)).blocks === 0) throw new Error('its file system does not say how much it holds')
    const files = await madeFiles(scratch, 'file')
    const blank = await openBlanks(join(scratch, 'blanks')).of(trial.mb)
    const start = clock.elapsed()
    try {
      needEnd(await filled(files, { blocks: blocksOf(trial), blank }, probe))
      return `full when it was full, ${Math.round(clock.elapsed() - start)} ms`
    } finally {
      await rm(files.dir, { recursive: true, force: true })
    }
  },
}

export const projectQuota: Check = {
  required: false,
  title: 'a quota of the file system for each sandbox (ext4 or XFS with project quotas)',
  next: 'needs Linux 5.14 and a data directory on ext4 with the features quota and project, or XFS, mounted with prjquota',
  async run(probe) {
    const { scratch, clock } = probe
    const files = await madeFiles(scratch, 'project')
    const kind = projectDisks()
    const disk = kind.plan(files, {}, trial.room)
    const start = clock.elapsed()
    try {
      kind.bound(files, disk)
      for (const directory of [files.upper, files.work]) {
        await mkdir(directory)
        joinProject(directory, disk.project as number)
      }
      needEnd(await filled(files, undefined, probe))
      return `full when it was full, ${Math.round(clock.elapsed() - start)} ms`
    } finally {
      await kind.drop(files, disk)
    }
  },
}

/** What a server here would choose. */
export const diskQuota: Check = {
  ...fileQuota,
  title: 'a disk of its own for each sandbox',
  async run(probe) {
    const projects = await projectQuota.run(probe).catch(() => undefined)
    probe.signal?.throwIfAborted()
    if (projects) return `by project quotas of the file system, ${projects}`
    return `an ext4 file on a loop device, direct I/O, ${await fileQuota.run(probe)}`
  },
}
