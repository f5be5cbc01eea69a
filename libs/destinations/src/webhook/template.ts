/**
 * A path with its placeholders filled in, URL-encoded. A list is joined by commas; as `name={list*}` it becomes `name=a&name=b`. A parameter
 * of a single placeholder without a value is left out. References, keys and times only, never personal data.
 */
export function fillTemplate(template: string, values: Readonly<Record<string, string | readonly string[]>>): string {
  const mark = template.indexOf('?');
  const path = mark === -1 ? template : template.slice(0, mark);
  const parameters = mark === -1 ? [] : template.slice(mark + 1).split('&');
  const query = parameters.flatMap((parameter) => fillParameter(parameter, values));
  return query.length === 0 ? fill(path, values) : `${fill(path, values)}?${query.join('&')}`;
}

type Values = Parameters<typeof fillTemplate>[1];

function fillParameter(parameter: string, values: Values): string[] {
  const [, name, placeholder = '', star] = /^([^=]*)=\{(\w+)(\*?)\}$/.exec(parameter) ?? [];
  if (name === undefined) return [fill(parameter, values)];
  const value = [values[placeholder] ?? []].flat().filter((one) => one !== '');
  if (value.length === 0) return [];
  if (star === '*') return value.map((one) => `${name}=${encodeURIComponent(one)}`);
  return [`${name}=${value.map(encodeURIComponent).join(',')}`];
}

function fill(text: string, values: Values): string {
  return text.replaceAll(/\{(\w+)\*?\}/g, (_whole, name: string) => [values[name] ?? []].flat().map(encodeURIComponent).join(','));
}
