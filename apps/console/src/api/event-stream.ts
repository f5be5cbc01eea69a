/** One event of a stream as the standard for server-sent events describes it. */
export interface StreamEvent {
  event: string;
  data: string;
}

/** Splits a text stream into events. Feed it pieces as they come; it keeps what is not finished yet. Comments and ids are passed over. */
export function eventReader(): (piece: string) => StreamEvent[] {
  let rest = '';
  return (piece) => {
    const blocks = (rest + piece).replaceAll('\r\n', '\n').split('\n\n');
    rest = blocks.pop() ?? '';
    return blocks.flatMap(eventOf);
  };
}

function eventOf(block: string): StreamEvent[] {
  const lines = block.split('\n').filter((line) => line !== '' && !line.startsWith(':'));
  const valuesOf = (field: string) =>
    lines.filter((line) => line.startsWith(`${field}:`)).map((line) => line.slice(field.length + 1).trimStart());
  const data = valuesOf('data');
  return data.length === 0 ? [] : [{ event: valuesOf('event')[0] ?? 'message', data: data.join('\n') }];
}
