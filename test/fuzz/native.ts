/**
 * The C of daemon and host under AddressSanitizer and UndefinedBehaviorSanitizer: their own tests, then random input (inputs.ts).
 *
 *     make fuzz [SEED=1] [N=300]
 *     node test/fuzz/native.ts spawn       only what has the word in its path
 *
 * They take the place of the built ones in a mount namespace of their own, so that what runs beside it keeps its own.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
interface Sources {
  readonly addons: string[]
  readonly programs: string[]
}

/** Where C is built (images/setup/native.sh), and of what: addons, and programs that the host runs for what a tenant has made. */
const places = new Map<string, Sources>()
for (const source of globSync(['daemon/native/*/*.c', 'control/**/*.c'], { cwd: root })) {
  const place = source.startsWith('daemon/') ? 'daemon/native/build' : join(dirname(source), 'build')
  const { addons, programs } = places.get(place) ?? { addons: [], programs: [] }
  const isAddon = readFileSync(join(root, source), 'utf8').includes('NAPI_MODULE_INIT')
  ;(isAddon ? addons : programs).push(source)
  places.set(place, { addons, programs })
}
const checkedOf = (place: string): string => join(root, '.runtime/fuzz', place)
const out = (line: string) => process.stdout.write(`fuzz: ${line}\n`)

const tests = [
  ...['receive', 'hole', 'md5-lanes', 'uapi', 'sys', 'spawn', 'mount'].map(
    name => `test/daemon/native/${name}.test.ts`,
  ),
  'test/daemon/filesystem/native-port.test.ts',
  'test/daemon/filesystem/search/routes.test.ts',
  'test/daemon/watch/watch.test.ts',
  'test/daemon/terminal/terminal.test.ts',
  'test/daemon/process/output/file-pool.test.ts',
  'test/daemon/filesystem/transfer/chunked-upload.test.ts',
  'test/daemon/node-internals/send-file.test.ts',
  'test/daemon/filesystem/transfer/download.test.ts',
  'test/control/drivers/oci/process/run-process.test.ts',
  'test/control/drivers/oci/enter.test.ts',
  'test/control/drivers/oci/disk/from-project.test.ts',
  'test/control/base/memory/tidy.test.ts',
  'test/control/drivers/oci/view-v2.test.ts',
  'test/control/drivers/oci/drives.test.ts',
  'test/control/drivers/oci/users/before.test.ts',
  'test/control/drivers/oci/users/hold.test.ts',
  // The relay: connections that are passed on unread, and parts of them; and where datagrams wanted to go.
  'test/control/network/egress/late.test.ts',
  'test/control/network/egress/datagrams.test.ts',
  'test/control/base/relay/move.test.ts',
]

const flags = ['-std=gnu11', '-O1', '-g', '-fno-omit-frame-pointer', '-fsanitize=address,undefined']
const asAddon = ['-fPIC', '-shared']
const include = ['.runtime/node/include/node', 'daemon/native/include', 'daemon/node-internals'].map(dir => `-I${dir}`)

/** Programs have no environment of the host's. What one has kept when it ends is no leak. */
const options = `const char *__asan_default_options(void) { return "detect_leaks=0:exitcode=86"; }
const char *__ubsan_default_options(void) { return "halt_on_error=1:print_stacktrace=1"; }
`

const gcc = (args: readonly string[]): void => {
  execFileSync('gcc', [...flags, ...include, ...args, '-pthread', '-lm'], { cwd: root, stdio: 'inherit' })
}

const compile = (): void => {
  const optionsFile = join(root, '.runtime/fuzz/options.c')
  for (const [place, { addons, programs }] of places) {
    const checked = checkedOf(place)
    rmSync(checked, { recursive: true, force: true })
    mkdirSync(dirname(checked), { recursive: true })
    // With the stamp, so that nobody builds the others over them.
    cpSync(join(root, place), checked, { recursive: true })
    writeFileSync(optionsFile, options)
    const target = (source: string, ending = '') => join(checked, `${basename(source, '.c')}${ending}`)
    for (const source of addons) gcc([...asAddon, '-o', target(source, '.node'), source])
    for (const source of programs) gcc(['-o', target(source), source, optionsFile])
  }
}

const binds = [...places.keys()].map(place => `mount --bind ${checkedOf(place)} ${join(root, place)}`).join(' && ')

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
