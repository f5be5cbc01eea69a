/** What is published: about an encoded `lead.accepted`, and its headers. */
export const value = Buffer.alloc(400, 'lead');
export const headers = {
  'ld-event-id': '01890a5d-ac96-774b-bcce-b302099a8057',
  'ld-destinations': 'sandbox-crm,sandbox-marketing',
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
};
export const partitions = 6;
export const keys = 5_000;
