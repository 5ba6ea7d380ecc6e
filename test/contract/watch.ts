/** Section 1.8: one JSON object per line for what happens to files. */
import type { Test } from 'tap'
import { ask, escaped, fresh, stream, type Target } from './target.ts'

interface Event {
  readonly op: string
  readonly name: string
  readonly path: string
  readonly error: null
}

/** Clients skip keep-alive lines and parse every other one. */
const is = (wanted: Partial<Event>) => (line: string) => {
  if (line.startsWith('[keepalive]')) return false
  const event = JSON.parse(line) as Event
  return Object.entries(wanted).every(([key, value]) =>
    key === 'op' ? event.op.split('|').includes(value as string) : event[key as keyof Event] === value,
  )
}

export const watch = async (t: Test, target: Target): Promise<void> => {
  const make = async (t: Test): Promise<{ dir: string; put: (name: string, body?: object) => Promise<number> }> => {
    const dir = `${target.scratch}/${fresh('watch')}`
    const put = async (name: string, body: object = { content: 'x' }) =>
      (await ask(target, 'PUT', escaped('filesystem', `${dir}${name}`), { body })).status
    t.equal(await put('', { isDirectory: true }), 200)
    return { dir, put }
  }

  await t.test('a directory: created, written, removed', async t => {
    const { dir, put } = await make(t)
    const lines = await stream(t, target, escaped('watch/filesystem', dir))
    t.match(lines.message.headers, { 'content-type': 'text/plain; charset=utf-8', 'x-accel-buffering': 'no' })
    await put('/a.txt')
    const line = await lines.find(is({ op: 'CREATE', name: 'a.txt' }), 'the new file')
    t.match(JSON.parse(line), { path: dir, name: 'a.txt', error: null })
    await put('/a.txt', { content: 'more' })
    await lines.find(is({ op: 'WRITE', name: 'a.txt', path: dir }), 'the write')
    await ask(target, 'DELETE', escaped('filesystem', `${dir}/a.txt`))
    await lines.find(is({ op: 'REMOVE', name: 'a.txt', path: dir }), 'the removal')
    t.not(lines.text().includes('\n\n'), true, 'no blank lines')
    lines.close()
  })

  await t.test('only the directory itself, unless it ends in /**', async t => {
    const { dir, put } = await make(t)
    await put('/deep/old.txt')
    const flat = await stream(t, target, escaped('watch/filesystem', dir))
    const whole = await stream(t, target, escaped('watch/filesystem', `${dir}/**`))
    await put('/deep/new.txt')
    await whole.find(is({ op: 'CREATE', name: 'new.txt', path: `${dir}/deep` }), 'a file below')
    await put('/later/made/x.txt')
    await whole.find(is({ op: 'CREATE', name: 'x.txt', path: `${dir}/later/made` }), 'a file in new directories')
    await ask(target, 'DELETE', `${escaped('filesystem', `${dir}/later`)}?recursive=true`)
    await whole.find(is({ op: 'REMOVE', name: 'later', path: dir }), 'the removal of a directory')
    await put('/end.txt')
    await flat.find(is({ op: 'CREATE', name: 'end.txt' }), 'a file')
    t.notMatch(flat.text(), /new\.txt|x\.txt/)
    for (const lines of [flat, whole]) lines.close()
  })

  await t.test('what is ignored does not appear', async t => {
    const { dir, put } = await make(t)
    const lines = await stream(
      t,
      target,
      `${escaped('watch/filesystem', `${dir}/**`)}?ignore=ignored.txt,ignored-folder`,
    )
    for (const name of ['/ignored.txt', '/ignored-folder/in.txt', '/seen.txt']) await put(name)
    await lines.find(is({ op: 'CREATE', name: 'seen.txt' }), 'what is not ignored')
    t.notMatch(lines.text(), /ignored/)
    lines.close()
  })

  await t.test('what is no directory is 400', async t => {
    const { dir, put } = await make(t)
    await put('/file')
    for (const name of ['file', 'none'])
      t.equal((await ask(target, 'GET', escaped('watch/filesystem', `${dir}/${name}`))).status, 400, name)
  })
}
