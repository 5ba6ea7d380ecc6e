/** Takes a machine off the box, whatever state it is in. Each step finds nothing to do when it was done before. */
import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { errno } from '../../../shared/errors.ts'
import { killGroup, removeGroup } from './cgroup/processes.ts'
import { run } from './command.ts'
import { groupOf, type Context } from './context.ts'
import { filesOf, type MachineFiles } from './layout.ts'
import { readMarker } from './marker.ts'
import { removeDirectory } from './remove-directory.ts'
import { runtimeNames, runtimeOf } from './runtime.ts'
import { pledgeOf } from './volumes/files.ts'

const readText = (path: string): Promise<string> =>
  readFile(path, 'utf8').catch(error => {
    if (['ENOENT', 'ENOTDIR', 'ESRCH'].includes(errno(error) ?? '')) return ''
    throw error
  })

/** A start that outlived its host would go on building what is being removed. */
const stopStarter = async (files: MachineFiles): Promise<void> => {
  const pid = Number(await readText(files.starter))
  if (!Number.isInteger(pid) || pid < 2) return
  // The number may be another process's by now; that one does not name this directory.
  const commandLine = await readText(`/proc/${pid}/cmdline`)
  if (!commandLine.includes(files.dir)) return
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if (errno(error) !== 'ESRCH') throw error
  }
}

/** A directory of its name; runsc has files instead, `<id>_sandbox:<id>.state` and `.lock`. */
const statesOf = async (directory: string, id: string): Promise<string[]> => {
  const found = await readdir(directory).catch(error => {
    if (errno(error) === 'ENOENT') return []
    throw error
  })
  return found.filter(name => name === id || name.startsWith(`${id}_sandbox:`))
}

/** Runtime state of the machine, of whichever runtime was configured when it was made. */
const forget = async ({ names }: Context, id: string): Promise<void> => {
  for (const name of runtimeNames) {
    const directory = join(names.runDir, name)
    const states = await statesOf(directory, id)
    if (states.length === 0) continue
    if (name === 'runsc') {
      // Its kernel and file server are processes of their own, which only it knows.
      const { file, args } = runtimeOf(name, names, 'kernel')
      await run({ step: 'delete', file, args: [...args, 'delete', '--force', id] })
    }
    for (const state of states) await rm(join(directory, state), { recursive: true, force: true })
  }
}

/** Ends the machine and gives back what it holds of the box; its directory and the tenant's files stay. */
export const endMachine = async (context: Context, id: string, signal?: AbortSignal): Promise<void> => {
  const { dataDir, names, hierarchy, slots, outbound, views, clock } = context
  const files = filesOf(dataDir, id)
  const group = groupOf(names, id)
  signal?.throwIfAborted()
  await stopStarter(files)
  await killGroup(hierarchy, group, clock)
  signal?.throwIfAborted()
  await forget(context, id)
  await removeGroup(hierarchy, group, clock)
  await views?.drop(id)
  // By who has them, not by the marker: of a machine that has ended before it names what may be another's by now.
  outbound?.release(id)
  await slots.drop(id)
}

/** Ends the machine and removes all of it. */
export const removeMachine = async (context: Context, id: string, signal?: AbortSignal): Promise<void> => {
  await endMachine(context, id, signal)
  signal?.throwIfAborted()
  const files = filesOf(context.dataDir, id)
  // While the marker is there: it says what the file system knows the files by.
  const { disk, volumes = [] } = (await readMarker(files.marker)) ?? {}
  if (disk) await context.disks.of(disk).drop(files, disk)
  await rm(files.output, { force: true })
  await removeDirectory(files.dir)
  for (const volume of volumes) if (volume.ephemeral) context.disks.pledges.forget(pledgeOf(volume, id))
  context.disks.pledges.forget(id)
}
