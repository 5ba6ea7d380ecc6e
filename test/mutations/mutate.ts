/** Breaks defences one after another in a copy of this checkout, and runs the test that has to notice. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Defence } from './defence.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
/** A test that hangs has noticed, too; as it is none takes so long. */
const hangsAfterS = 120
/** For one with a longer time of its own. */
const limitMs = 330_000

/** `seen`: an assertion of the test failed, or it hung. `unseen`: none did. Anything else: why it says nothing. */
export type Outcome = 'seen' | 'unseen' | `no verdict: ${string}`

/** Sources and tests as they are now; what was built is that of the checkout. */
const copyCheckout = (): string => {
  const copy = mkdtempSync(join(tmpdir(), 'hutch-mutations-'))
  // Tests run programs as users that are nobody here.
  chmodSync(copy, 0o755)
  const list = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root })
  for (const file of list
    .toString()
    .split('\0')
    .filter(name => name !== '' && existsSync(join(root, name)))) {
    mkdirSync(dirname(join(copy, file)), { recursive: true })
    cpSync(join(root, file), join(copy, file))
  }
  const built = globSync(['daemon/native/build', 'control/**/build'], { cwd: root })
  const runtime = readdirSync(join(root, '.runtime')).map(name => join('.runtime', name))
  mkdirSync(join(copy, '.runtime'))
  // A build whose sources moved elsewhere is nobody's any more.
  const links = ['node_modules', ...runtime, ...built].filter(name => existsSync(dirname(join(copy, name))))
  for (const name of links) symlinkSync(join(root, name), join(copy, name))
  return copy
}

/** The bundle of sandboxes, of the daemon as it is in the copy now; what comes back puts the checkout's in its place again. */
const bundleAnew = (copy: string): (() => void) => {
  const dir = join(copy, '.runtime')
  const names = ['bundle', 'bundles']
  for (const name of names) rmSync(join(dir, name), { force: true })
  execFileSync(process.execPath, ['images/runtime/main.ts'], { cwd: copy, stdio: 'ignore' })
  return () => {
    for (const name of names) {
      rmSync(join(dir, name), { recursive: true })
      symlinkSync(join(root, '.runtime', name), join(dir, name))
    }
  }
}

interface Ended {
  readonly code: number | null
  readonly failed: boolean
  readonly said: string
}

const runTest = async (copy: string, test: string): Promise<Ended> => {
  // In a group of its own: a test that hangs is ended with all that it has started.
  const child = spawn(process.execPath, [test], {
    cwd: copy,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, TAP: '1', TAP_TIMEOUT: String(hangsAfterS) },
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', piece => (said += piece))
  const end = (): void => {
    try {
      process.kill(-(child.pid as number), 'SIGKILL')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
  const timer = setTimeout(end, limitMs)
  const closed = once(child, 'close')
  const [code] = (await once(child, 'exit')) as [number | null]
  clearTimeout(timer)
  // What a broken defence has let start is still there.
  end()
  await closed
  return { code, failed: /^ *not ok (?!.*# (?:SKIP|TODO))/m.test(said), said }
}

const outcomeOf = async (copy: string, { file, text, instead, test }: Defence): Promise<Outcome> => {
  const path = join(copy, file)
  const source = readFileSync(path, 'utf8')
  if (source.split(text).length !== 2) return 'no verdict: its text does not stand in the file once'
  writeFileSync(
    path,
    source.replace(text, () => instead),
  )
  // Only there does the daemon come from the bundle.
  const restore = file.startsWith('daemon/') && test.startsWith('test/e2e/') ? bundleAnew(copy) : undefined
  try {
    const { code, failed, said } = await runTest(copy, test)
    if (failed) return 'seen'
    return code === 0 ? 'unseen' : `no verdict: the test ended with ${code}: ${said.slice(-300)}`
  } finally {
    restore?.()
    writeFileSync(path, source)
  }
}

/** Tests each defence whose name, file or test holds one of the words, all of them without any; tells each outcome. */
export const tryDefences = async (
  defences: readonly Defence[],
  words: readonly string[],
  tell: (defence: Defence, outcome: Outcome, ms: number) => void,
): Promise<void> => {
  const chosen = defences.filter(
    ({ name, file, test }) => words.length === 0 || words.some(word => [name, file, test].some(s => s.includes(word))),
  )
  const copy = copyCheckout()
  try {
    const sound = new Map<string, boolean>()
    for (const defence of chosen) {
      const start = performance.now()
      const { test } = defence
      if (!sound.has(test)) sound.set(test, (await runTest(copy, test)).code === 0)
      const outcome = sound.get(test) ? await outcomeOf(copy, defence) : 'no verdict: its test fails as it is'
      tell(defence, outcome, performance.now() - start)
    }
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}
