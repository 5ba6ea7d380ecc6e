/** What a claim writes into a machine whose image has put other things in the place of its files. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { lstatSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { enterMachine } from '../../../../control/drivers/oci/claim/enter.ts'
import type { Hierarchy } from '../../../../control/drivers/oci/cgroup/hierarchy.ts'

const image = `mount -t tmpfs shm /dev/shm && mount -t tmpfs etc /etc && cd /etc && mkfifo hosts && ln -s /etc/outside resolv.conf &&
  mknod hostname c 1 3 && echo of the image > outside && mkdir profile && echo ready && exec sleep 60`

t.test('a pipe, a link and a device give way to files; nothing waits', { skip: process.getuid?.() !== 0 }, async t => {
  const machine = spawn('unshare', ['-m', '-u', '--propagation', 'private', 'sh', '-c', image], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => machine.kill('SIGKILL'))
  await once(machine.stdout, 'data')
  const groups = t.testdir()
  mkdirSync(join(groups, 'one'))
  writeFileSync(join(groups, 'one', 'cgroup.procs'), `${machine.pid}\n`)
  const hierarchy = { mountOf: () => groups } as unknown as Hierarchy
  const file = (name: string) => join(groups, name)
  const settings = ['thawed', 'limit'].map(name => [file(name), `${name}\n`] as const)
  for (const [path] of settings) writeFileSync(path, '')
  const note = [file('note'), 'for later'] as const
  const visit = { hostname: 'named', shmBytes: 1 << 20, rootId: 0, controls: settings, note }
  const etc = { hosts: 'one', 'resolv.conf': 'two', hostname: 'three' }
  await enterMachine(hierarchy, 'one', { ...visit, etc })
  const inside = `/proc/${machine.pid}/root/etc`
  for (const [name, text] of Object.entries(etc)) {
    t.ok(lstatSync(join(inside, name)).isFile(), name)
    t.equal(readFileSync(join(inside, name), 'utf8'), text)
  }
  t.equal(readFileSync(join(inside, 'outside'), 'utf8'), 'of the image\n', 'no link was followed')
  for (const [path, text] of settings) t.equal(readFileSync(path, 'utf8'), text, path)
  t.equal(readFileSync(note[0], 'utf8'), note[1])
  t.equal(statSync(note[0]).mode & 0o777, 0o600, 'the note is for root alone')
  const missing = [[file('missing'), '1'], ...settings] as const
  for (const [path] of settings) writeFileSync(path, '')
  await t.rejects(
    enterMachine(hierarchy, 'one', { ...visit, hostname: 'other', controls: missing, etc: { hosts: 'other' } }),
    /missing: no such file or directory/,
    'no control file is made',
  )
  t.equal(readFileSync(file('limit'), 'utf8'), '', 'nothing is set after one that failed')
  t.equal(readFileSync(join(inside, 'hosts'), 'utf8'), 'one', 'nor inside')
  await t.rejects(enterMachine(hierarchy, 'one', { ...visit, etc: { profile: 'x' } }), /files of \/etc/, 'a directory')
})
