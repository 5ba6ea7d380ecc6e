/**
 * Project quotas of XFS and ext4 to their end: a server killed before each of its calls, and trees that are copied there, on a kernel of Debian's that
 * runs as a process.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { skipFile } from '../support/skip-file.ts'
import { runInUml, umlKinds, whyNoUml } from '../support/uml.ts'

skipFile(whyNoUml())

const node = 'NODE_COMPILE_CACHE=/run/compiled TAP_TIMEOUT=3000 node --disable-warning=ExperimentalWarning'

/** Runs lines that end with one test file; how many points of it passed. */
const points = async (t: Test, lines: string): Promise<number> => {
  const dir = mkdtempSync(join(tmpdir(), 'hutch-uml-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  const { out, code } = await runInUml(dir, lines)
  t.equal(code, 0, code === 0 ? 'it ended well' : out.slice(-6_000))
  const passed = Number(/^# \{ total: \d+, pass: (\d+)/m.exec(out)?.[1] ?? 0)
  t.comment(`${passed} points`)
  return passed
}

// They have a processor each.
t.jobs = umlKinds.length

for (const kind of umlKinds)
  t.test(kind, async t => {
    const where = `/mnt/${kind}`
    await t.test('killed at any moment of what it does with projects', async t => {
      const kills = `TMPDIR=${where} ${node} test/control/drivers/oci/disk/project-kills.soak.ts`
      t.ok((await points(t, `${kills} && test -z "$(bash test/programs/projects.sh ${where})"`)) > 200)
    })
    await t.test('trees are copied whole into a project', async t => {
      // What that test makes is beside its sources.
      const move = `mkdir ${where}/in && chattr -p 77 +P ${where}/in && cp -a control shared test package.json ${where}/in && ln -s $PWD/node_modules ${where}/in`
      t.ok(
        (await points(t, `${move} && cd ${where}/in && ${node} test/control/drivers/oci/disk/copy-tree.test.ts`)) > 30,
      )
    })
  })
