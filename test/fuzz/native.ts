/**
 * The C addons under AddressSanitizer and UndefinedBehaviorSanitizer: their own tests, then random input (inputs.ts).
 *
 *     make fuzz [SEED=1] [N=300]
 *     node test/fuzz/native.ts spawn       only what has the word in its path
 *
 * They take the place of the built ones in a mount namespace of their own, so that what runs beside it keeps its own.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
/** Where addons are built, and what is built there. */
const places: Readonly<Record<string, string>> = {
  'daemon/native/build': 'daemon/native/*/*.c',
  'control/relay/build': 'control/relay/relay.c',
  'control/drivers/oci/process/build': 'control/drivers/oci/process/run-process.c',
}
const checkedOf = (place: string): string => join(root, '.runtime/fuzz', place)
const out = (line: string) => process.stdout.write(`fuzz: ${line}\n`)

const tests = [
  ...['receive', 'hole', 'md5-lanes', 'uapi', 'sys', 'spawn'].map(name => `test/daemon/native/${name}.test.ts`),
  'test/daemon/filesystem/native-port.test.ts',
  'test/daemon/filesystem/search/routes.test.ts',
  'test/daemon/filesystem/transfer/chunked-upload.test.ts',
  'test/daemon/node-internals/send-file.test.ts',
  'test/daemon/filesystem/transfer/download.test.ts',
  'test/control/drivers/oci/process/run-process.test.ts',
  // The relay: connections that are passed on unread, and parts of them.
  'test/control/egress/late.test.ts',
  'test/control/relay/move.test.ts',
]

const compile = (): void => {
  const flags = [
    '-std=gnu11',
    '-O1',
    '-g',
    '-fno-omit-frame-pointer',
    '-fsanitize=address,undefined',
    '-fPIC',
    '-shared',
  ]
  const include = ['.runtime/node/include/node', 'daemon/native/include', 'daemon/node-internals'].map(
    dir => `-I${dir}`,
  )
  for (const [place, sources] of Object.entries(places)) {
    const checked = checkedOf(place)
    rmSync(checked, { recursive: true, force: true })
    mkdirSync(dirname(checked), { recursive: true })
    // With the stamp, so that nobody builds the others over them.
    cpSync(join(root, place), checked, { recursive: true })
    for (const source of globSync(sources, { cwd: root })) {
      const target = join(checked, `${basename(source, '.c')}.node`)
      execFileSync('gcc', [...flags, ...include, '-o', target, source, '-pthread'], { cwd: root, stdio: 'inherit' })
    }
  }
}

const binds = Object.keys(places)
  .map(place => `mount --bind ${checkedOf(place)} ${join(root, place)}`)
  .join(' && ')

/** Runs Node with the checked addons; true when it ended well. */
const run = (args: readonly string[]): boolean => {
  const library = execFileSync('gcc', ['-print-file-name=libasan.so'], { encoding: 'utf8' }).trim()
  const { status } = spawnSync(
    'unshare',
    ['--mount', 'sh', '-c', `${binds} || exit 1; LD_PRELOAD=${library} exec "$@"`, 'in', process.execPath, ...args],
    {
      cwd: root,
      stdio: ['ignore', 'ignore', 'inherit'],
      env: {
        ...process.env,
        TAP_TIMEOUT: '0',
        // Node keeps what it has made; what is kept is not looked for.
        ASAN_OPTIONS: 'detect_leaks=0,abort_on_error=0,exitcode=86',
        UBSAN_OPTIONS: 'halt_on_error=1,print_stacktrace=1',
      },
    },
  )
  out(`${status === 0 ? 'well' : `ENDED WITH ${status}`}: ${args.join(' ')}`)
  return status === 0
}

if (process.getuid?.() !== 0) out('skipped: the addons under AddressSanitizer need root, for a mount namespace')
else {
  compile()
  const inputs = ['test/fuzz/inputs.ts', process.env['SEED'] || '1', process.env['N'] || '300']
  const [part] = process.argv.slice(2)
  const runs = [...tests.map(test => [test]), inputs].filter(([file = '']) => part === undefined || file.includes(part))
  const results = runs.map(run)
  if (!results.every(Boolean)) process.exitCode = 1
}
