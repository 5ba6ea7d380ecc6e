/** Stops and starts a machine's clock by writing one file; no runtime is asked. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../../../../shared/clock.ts'
import { errno, fail } from '../../../../shared/errors.ts'
import { readControl, type Hierarchy, type Setting } from './hierarchy.ts'

const boundMs = 10_000

interface Control {
  readonly file: string
  readonly on: string
  readonly off: string
  state(): Promise<'frozen' | 'thawed' | 'between' | 'gone'>
}

const controlOf = (hierarchy: Hierarchy, path: string): Control | undefined => {
  const mount = hierarchy.mountOf('freezer')
  if (mount === undefined) return undefined
  const directory = join(mount, path)
  if (hierarchy.version === 1) {
    const file = join(directory, 'freezer.state')
    const words = { FROZEN: 'frozen', THAWED: 'thawed', FREEZING: 'between' } as const
    return {
      file,
      on: 'FROZEN',
      off: 'THAWED',
      async state() {
        const word = await readControl(file)
        return word === undefined ? 'gone' : (words[word as keyof typeof words] ?? 'between')
      },
    }
  }
  const file = join(directory, 'cgroup.freeze')
  return {
    file,
    on: '1',
    off: '0',
    async state() {
      const [wanted, events] = [await readControl(file), await readControl(join(directory, 'cgroup.events'))]
      if (wanted === undefined || events === undefined) return 'gone'
      const is = /^frozen 1$/m.test(events)
      if (is) return wanted === '1' ? 'frozen' : 'between'
      return wanted === '1' ? 'between' : 'thawed'
    },
  }
}

export const isFrozen = async (hierarchy: Hierarchy, path: string): Promise<boolean> =>
  (await controlOf(hierarchy, path)?.state()) === 'frozen'

const turn = async (hierarchy: Hierarchy, path: string, frozen: boolean, clock: Clock): Promise<void> => {
  const step = frozen ? 'freeze' : 'thaw'
  const control = controlOf(hierarchy, path)
  const gone = () =>
    fail('driver_failed', { driver: 'oci', step, reason: `no running machine at group ${path}; create it again` })
  if (!control) throw gone()
  const wanted = frozen ? 'frozen' : 'thawed'
  const start = clock.elapsed()
  for (let tries = 1; ; tries++) {
    try {
      writeFileSync(control.file, frozen ? control.on : control.off)
    } catch (error) {
      if (errno(error) === 'ENOENT' || errno(error) === 'ENODEV') throw gone()
      throw error
    }
    const state = await control.state()
    if (state === wanted) return
    if (state === 'gone') throw gone()
    if (clock.elapsed() - start > boundMs) {
      // Half-frozen is worse than running: some of its processes would answer and some not.
      if (frozen) writeFileSync(control.file, control.off)
      throw fail('busy', { what: `group ${path} does not ${step}`, next: 'a process waits in the kernel; try again' })
    }
    // Most groups are there at the second look; a timer would take a millisecond.
    if (tries > 5) await clock.sleep(Math.min(tries - 5, 20))
  }
}

/** What wakes a group, for who writes that himself: it is awake when it answers. */
export const thawing = (hierarchy: Hierarchy, path: string): readonly Setting[] => {
  const control = controlOf(hierarchy, path)
  return control ? [[control.file, control.off]] : []
}

export const freezeGroup = (hierarchy: Hierarchy, path: string, clock: Clock): Promise<void> =>
  turn(hierarchy, path, true, clock)

export const thawGroup = (hierarchy: Hierarchy, path: string, clock: Clock): Promise<void> =>
  turn(hierarchy, path, false, clock)
