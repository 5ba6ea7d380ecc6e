/** What a start is told, and what it makes of it. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { openStage, stageDir } from '../../../../control/drivers/oci/names.ts'
import { program } from '../../../../control/drivers/oci/native/programs.ts'
import { openBlanks } from '../../../../control/drivers/oci/disk/blanks.ts'
import { stageCommand, tellStart } from '../../../../control/drivers/oci/start.ts'
import { filesOf } from '../../../../control/drivers/oci/layout.ts'
import { runProcess } from '../../../../control/drivers/oci/process/run-process.ts'

await openStage()

/** Starts a shell in the place of a runtime, and gives what it and the start said. */
const begin = async (t: Test, input: string, script: string) => {
  const root = t.testdir()
  const files = filesOf(root, 'm')
  const image = join(root, 'image')
  for (const dir of [files.dir, dirname(files.output)]) mkdirSync(dir, { recursive: true })
  mkdirSync(join(image, 'etc'), { recursive: true })
  const blank = await openBlanks(join(root, 'blanks')).of(32)
  const args = stageCommand({
    files,
    usersOf: undefined,
    openFiles: undefined,
    image,
    generic: false,
    disk: { blocks: undefined, blank },
    bundleDir: image,
    releasesDir: undefined,
    privatePlace: false,
    hidden: undefined,
    launch: ['/bin/sh', '-c', script],
  })
  const file = program('start-machine')
  const signal = AbortSignal.timeout(20_000)
  const end = await runProcess({
    file,
    args,
    env: { PATH: '/usr/bin:/bin' },
    input,
    capture: false,
    session: false,
    signal,
  })
  return { code: end.code, said: readFileSync(files.output, 'utf8'), files }
}

t.test('configuration, input and names come where they belong, whatever is in them', async t => {
  const config = { text: 'input 3\nabc\n', more: 'ü'.repeat(70_000) }
  const etc = { hostname: 'box\n', empty: '', hosts: 'etc/hostname 2\nno' }
  const script = `cat; echo; wc -c < ${stageDir}/config.json; cd ${stageDir}/root/etc; for name in hostname hosts empty; do echo "$name: $(cat $name)"; done`
  const { code, said } = await begin(t, tellStart({ config, input: { key: 'secret\n' }, etc }), script)
  t.equal(code, 0)
  t.equal(
    said,
    `{"key":"secret\\n"}\n${Buffer.byteLength(JSON.stringify(config))}\nhostname: box\nhosts: etc/hostname 2\nno\nempty: \n`,
  )
})

t.test('what the first process reads is nobody else’s, cannot be written, and is over where there is none', async t => {
  const script =
    'cat; for way in ">&0" "1<>/proc/self/fd/0"; do if eval "echo x $way" 2> /dev/null; then echo written; fi; done; readlink /proc/self/fd/0'
  const { said, files } = await begin(t, tellStart({ input: { key: 'secret' } }), script)
  t.match(said, /^\{"key":"secret"\}\/memfd:input \(deleted\)\n$/)
  t.throws(() => execFileSync('grep', ['-r', 'secret', files.dir]), 'it is on no disk')
  t.match((await begin(t, tellStart({}), 'cat; readlink /proc/self/fd/0')).said, /^pipe:/)
})

t.test('what cannot be read starts nothing', async t => {
  for (const input of ['input 5\nabc', 'input\nabc', 'input 3', 'input -1\nabc', 'x']) {
    const { code, said } = await begin(t, input, 'echo started')
    t.same({ input, code, said }, { input, code: 1, said: 'what it is told cannot be read\n' })
  }
})

t.test('a name that leads out of /etc is none', async t => {
  const { said } = await begin(
    t,
    tellStart({ etc: { '../out': 'x', 'a/b': 'x', in: 'x' } }),
    `cd ${stageDir}/root; find . -type f`,
  )
  t.equal(said, './etc/in\n')
  t.notOk(existsSync('/out'))
})
