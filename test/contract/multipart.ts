/** Section 1.9: large files in parts. */
import { createHash } from 'node:crypto'
import type { Test } from 'tap'
import { ask, component, form, fresh, type Target } from './target.ts'

const md5 = (bytes: Buffer): string => createHash('md5').update(bytes).digest('hex')
const family = '/filesystem-multipart'

export const multipart = async (t: Test, target: Target): Promise<void> => {
  const dir = `${target.scratch}/${fresh('parts')}`
  const begin = (name: string, body?: unknown) =>
    ask(target, 'POST', `${family}/initiate/${encodeURIComponent(`${dir}/${name}`)}`, { body })
  const part = (id: string, number: number | string, bytes: Buffer) =>
    ask(
      target,
      'PUT',
      `${family}/${id}/part?partNumber=${number}`,
      form([{ name: 'file', value: bytes, filename: 'blob' }]),
    )
  const complete = (id: string, parts: unknown) => ask(target, 'POST', `${family}/${id}/complete`, { body: { parts } })
  const pieces = [1, 2, 3].map(number => Buffer.alloc(100_000, number))

  await t.test('parts in any order become one file', async t => {
    const { status, body } = await begin('whole.bin', { permissions: '0600' })
    t.equal(status, 200)
    t.match(body, { uploadId: /^[0-9a-f-]{36}$/, path: `${dir}/whole.bin` })
    const { uploadId } = body
    for (const number of [3, 2, 1]) {
      const bytes = pieces[number - 1] as Buffer
      t.match(await part(uploadId, number, bytes), {
        status: 200,
        body: { partNumber: number, etag: md5(bytes), size: bytes.length },
      })
    }
    const { parts } = (await ask(target, 'GET', `${family}/${uploadId}/parts`)).body
    t.same(
      parts.map((entry: { partNumber: number }) => entry.partNumber),
      [1, 2, 3],
    )
    const listed = (await ask(target, 'GET', family)).body.uploads.find(
      (upload: { uploadId: string }) => upload.uploadId === uploadId,
    )
    t.match(listed, { path: `${dir}/whole.bin`, permissions: 0o600, parts: { 1: { size: 100_000 } } })
    const done = await complete(
      uploadId,
      pieces.map((bytes, index) => ({ partNumber: index + 1, etag: md5(bytes), size: 1 })),
    )
    t.match(done, { status: 200, body: { path: `${dir}/whole.bin`, message: String } })
    const back = await ask(target, 'GET', `${component('filesystem', `${dir}/whole.bin`)}?download=true`)
    t.equal(md5(back.bytes), md5(Buffer.concat(pieces)))
    t.equal((await ask(target, 'GET', `${family}/${uploadId}/parts`)).status, 404, 'the upload is over')
  })

  await t.test('a part sent again replaces the first', async t => {
    const { uploadId } = (await begin('again.txt')).body
    const first = await part(uploadId, 1, Buffer.from('first'))
    const second = await part(uploadId, 1, Buffer.from('second'))
    t.not(first.body.etag, second.body.etag)
    t.equal((await complete(uploadId, [{ partNumber: 1, etag: first.body.etag }])).status, 500, 'the old etag')
    t.equal((await complete(uploadId, [{ partNumber: 1, etag: second.body.etag }])).status, 200)
    t.equal((await ask(target, 'GET', component('filesystem', `${dir}/again.txt`))).body.content, 'second')
  })

  await t.test('an aborted upload leaves nothing', async t => {
    const { uploadId } = (await begin('aborted.txt')).body
    await part(uploadId, 1, Buffer.from('x'))
    t.match(await ask(target, 'DELETE', `${family}/${uploadId}/abort`), {
      status: 200,
      body: { path: '', message: /aborted/ },
    })
    t.equal((await part(uploadId, 2, Buffer.from('x'))).status, 500)
    t.equal((await ask(target, 'DELETE', `${family}/${uploadId}/abort`)).status, 404)
    t.equal((await ask(target, 'GET', component('filesystem', `${dir}/aborted.txt`))).status, 404)
  })

  await t.test('what is refused', async t => {
    const { uploadId } = (await begin('refused.txt')).body
    t.equal((await part(uploadId, 0, Buffer.from('x'))).status, 500)
    t.equal((await part(uploadId, 10_001, Buffer.from('x'))).status, 500)
    t.equal((await part(uploadId, 'one', Buffer.from('x'))).status, 400)
    t.equal((await ask(target, 'PUT', `${family}/${uploadId}/part`, form([]))).status, 400)
    const noFile = form([{ name: 'other', value: 'x' }])
    t.equal((await ask(target, 'PUT', `${family}/${uploadId}/part?partNumber=1`, noFile)).status, 400)
    t.equal((await complete(uploadId, [])).status, 400)
    t.equal((await complete(uploadId, [{ partNumber: 5, etag: md5(Buffer.from('x')) }])).status, 500)
    t.equal((await complete('00000000-0000-4000-8000-000000000000', [{ partNumber: 1, etag: 'x' }])).status, 404)
    t.equal((await begin('bad', { permissions: 'rwx' })).status, 400)
    await ask(target, 'DELETE', `${family}/${uploadId}/abort`)
  })
}
