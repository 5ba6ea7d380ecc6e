/** Namespaces that are named by a program which this one becomes. */
import { existsSync } from 'node:fs'
import t from 'tap'
import { run } from '../../../../../control/drivers/oci/command.ts'
import { program } from '../../../../../control/drivers/oci/native/programs.ts'
import { memberAt } from '../../../../../control/drivers/oci/users/hold.ts'
import { until } from '../../../../support/until.ts'

const root = { skip: process.getuid?.() !== 0 && 'namespaces need root' }
const hold = (args: readonly string[], input: string) =>
  run({ step: 'hold', file: program('hold-namespaces'), args, input })

/** Says of both processes that it reads of in which namespaces they are and what is root there, and their numbers. */
const look = `read -r one two
for pid in $one $two; do readlink /proc/$pid/ns/user /proc/$pid/ns/net; cut -c 1-24 /proc/$pid/uid_map; done
readlink /proc/self/ns/user /proc/self/ns/net
echo $one $two`

t.test('two pairs are there while the program runs, and nothing of them afterwards', root, async t => {
  const said = await hold(['1700000000', '1700065536', '--', '/bin/sh', '-c', look], `${memberAt(0)} ${memberAt(1)}\n`)
  const lines = said.split('\n')
  const [ranges, namespaces] = [[lines[2], lines[5]], [0, 1, 3, 4, 6, 7].map(at => lines[at])]
  t.strictSame(
    ranges.map(range => range?.trim().split(/\s+/)),
    [
      ['0', '1700000000'],
      ['0', '1700065536'],
    ],
  )
  t.equal(new Set(namespaces).size, 6, said)
  const pids = lines[8]?.split(' ') ?? []
  t.equal(pids.length, 2, said)
  await until(() => pids.every(pid => !existsSync(`/proc/${pid}/ns/net`)), 'the ends of both processes')
})

t.test('what cannot be done is said', root, async t => {
  const cat = ['--', '/bin/cat']
  t.equal(await hold(['1700000000', ...cat], 'no place'), 'no place')
  await t.rejects(hold(['4294967295', ...cat], ''), /user namespaces: map: Invalid argument/, 'no such user')
  await t.rejects(hold(['1700000000', ...cat], memberAt(1)), /user namespaces: input/, 'no such pair')
  await t.rejects(hold(['1700000000', '--'], ''), /user namespaces: arguments/, 'no program')
  await t.rejects(hold(['1700000000', '--', '/none'], ''), /user namespaces: \/none: No such file/, 'another program')
})
