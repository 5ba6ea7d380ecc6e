/** One container of a runtime, from start to end: the only way to know. */
import { existsSync } from 'node:fs'
import { mkdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../../../../shared/errors.ts'
import { openHierarchy, type Hierarchy } from '../cgroup/hierarchy.ts'
import { prepareParent } from '../cgroup/parent.ts'
import { killGroup, removeGroup } from '../cgroup/processes.ts'
import { run, tool } from '../command.ts'
import { openStage, stageDir } from '../names.ts'
import { program } from '../native/programs.ts'
import { carriesOverlay } from '../overlay.ts'
import { hiddenFrom, runtimeOf, type Stack } from '../runtime.ts'
import { stageCommand, tellStart } from '../start.ts'
import { memberAt, nameNamespaces } from '../users/hold.ts'
import type { ProbeContext } from './check.ts'
import { started, trialConfig, type Container } from './container-config.ts'

interface Trial extends Container {
  readonly runtime: string
  readonly stack: Stack
  /** A directory to show inside; undefined for one of the scratch directory. */
  readonly bundleDir: string | undefined
  /** Done while it runs; the trial fails with it. */
  readonly meanwhile?: (running: Running) => Promise<void>
}

export interface Running {
  readonly hierarchy: Hierarchy
  /** Group of the trial, and name of the container's in it. */
  readonly group: string
  readonly name: string
  /** Of the trial, gone afterwards. */
  readonly dir: string
}

/** A network namespace called `name`, with a user namespace where the trial has one. */
const addNetwork = async (name: string, { firstId }: Trial): Promise<void> => {
  const step = 'network'
  if (firstId === undefined) await run({ step, file: tool('ip'), args: ['netns', 'add', name] })
  else await nameNamespaces({ step, ranges: [firstId], commands: `netns attach ${name} ${memberAt(0)}\n` })
}

/** Where the trial's container is on disk; a root file system of nothing but mount points. */
const prepareFiles = async (dir: string) => {
  const files = { dir, starter: join(dir, 'starter'), output: join(dir, 'output.log'), disk: join(dir, 'disk.img') }
  for (const name of ['upper', 'work', 'root', 'image']) await mkdir(join(dir, name), { recursive: true })
  return files
}

/**
 * Does what the trial has to do while the container runs, once it has said that it does: before, its mounts may be those of the box. Nothing
 * of one that ends without.
 */
const besideIt = async (
  { meanwhile }: Trial,
  running: Running,
  { ended, output, clock }: { ended: Promise<unknown>; output: string; clock: ProbeContext['clock'] },
): Promise<void> => {
  if (!meanwhile) return
  let isOver = false
  const end = () => {
    isOver = true
  }
  void ended.then(end, end)
  while (!isOver) {
    if (existsSync(output) && (await readFile(output, 'utf8')).includes(started)) return meanwhile(running)
    await clock.sleep(20)
  }
}

/** Milliseconds that one container took from start to end; throws with what the runtime said. */
export const tryContainer = async (trial: Trial, context: ProbeContext): Promise<number> => {
  const { runtime: name, stack, firstId, bundleDir } = trial
  const { word, scratch, clock, signal } = context
  const label = `hutch-probe-${word}-${stack}`
  const dir = join(scratch, `${name}-${stack}`)
  const hierarchy = await openHierarchy()
  const { file, args } = runtimeOf(name, { runDir: join(dir, 'state') }, stack)
  const files = await prepareFiles(dir)
  const overlay = await carriesOverlay(scratch)
  const image = overlay ? join(dir, 'image') : undefined
  await openStage()
  await addNetwork(label, trial)
  let ended: Promise<unknown> | undefined
  let meanwhile: Promise<void> | undefined
  try {
    await prepareParent(hierarchy, label)
    const input = tellStart({ config: trialConfig(`${label}/${name}`, label, trial) })
    const stage = {
      files,
      usersOf: firstId === undefined ? undefined : join('/run/netns', label),
      openFiles: undefined,
      image,
      generic: false,
      disk: undefined,
      bundleDir: bundleDir ?? join(dir, 'image'),
      releasesDir: undefined,
      privatePlace: false,
      hidden: hiddenFrom({ name }, hierarchy),
      launch: [file, ...args, 'run', '--bundle', stageDir, label],
    }
    const start = clock.elapsed()
    const ran = run({
      step: 'run',
      file: program('start-machine'),
      args: stageCommand(stage),
      input,
      signal,
    })
    ended = ran.catch(async error => {
      signal?.throwIfAborted()
      const said = (await readFile(files.output, 'utf8')).replace(started, '').trim().slice(-500)
      throw new Error(said || messageOf(error))
    })
    meanwhile = besideIt(trial, { hierarchy, group: label, name, dir }, { ended, output: files.output, clock })
    // Whichever fails first says why.
    await Promise.all([ended, meanwhile])
    const said = await readFile(files.output, 'utf8')
    if (!said.includes(started)) throw new Error(`it said "${said.slice(0, 200)}"`)
    const { uid } = await stat(join(dir, overlay ? 'upper' : 'root', 'file'))
    if (uid !== 0) throw new Error(`what root writes inside belongs to user ${uid} on disk`)
    return Math.round(clock.elapsed() - start)
  } finally {
    await killGroup(hierarchy, label, clock)
    // The runtime lets go of its directories when its container has ended, and what was done meanwhile of its own.
    await Promise.allSettled([ended, meanwhile])
    await removeGroup(hierarchy, label, clock)
    await run({ step: 'network', file: tool('ip'), args: ['netns', 'del', label] })
    await rm(dir, { recursive: true, force: true })
  }
}

/** As most are tried: with the box's users and network stack, and without a bundle. */
export const shared = { firstId: undefined, stack: 'kernel', bundleDir: undefined } as const
