/* SPDX-License-Identifier: Apache-2.0 */
#include "report/json.h"

#include "report/json_rows.h"

int json_audit(const struct audit *a, const struct action_record *actions, size_t action_count,
	       struct buf *ret)
{
	struct jsonw doc = jsonw_document(), list;

	json_rows_audit(&doc, a);
	if (actions) {
		list = jsonw_list();
		for (size_t i = 0; i < action_count; i++) {
			struct jsonw row = jsonw_object();

			json_rows_action(&row, &actions[i]);
			jsonw_push(&list, &row);
		}
		jsonw_add(&doc, "actions", &list);
	}
	return jsonw_finish(&doc, JSONW_PRETTY, ret);
}

int json_checks(const struct checks *c, struct buf *ret)
{
	struct jsonw doc = jsonw_document(), list = jsonw_list();

	for (size_t i = 0; i < c->count; i++) {
		const struct check *check = &c->check[i];
		struct jsonw row = jsonw_object();

		jsonw_str(&row, "name", check->name);
		jsonw_str(&row, "status", check_status_name(check->status));
		jsonw_lines(&row, "found", check->found);
		if (check->fix[0])
			jsonw_lines(&row, "fix", check->fix);
		else
			jsonw_null(&row, "fix");
		jsonw_push(&list, &row);
	}
	jsonw_add(&doc, "checks", &list);
	return jsonw_finish(&doc, JSONW_PRETTY, ret);
}

int json_settings(const struct setting *settings, size_t count, struct buf *ret)
{
	struct jsonw doc = jsonw_document(), list = jsonw_list();

	for (size_t i = 0; i < count; i++) {
		struct jsonw row = jsonw_object();

		jsonw_str(&row, "section", settings[i].section);
		jsonw_str(&row, "key", settings[i].key);
		jsonw_str(&row, "value", settings[i].value);
		jsonw_str(&row, "origin", settings[i].origin);
		jsonw_push(&list, &row);
	}
	jsonw_add(&doc, "settings", &list);
	return jsonw_finish(&doc, JSONW_PRETTY, ret);
}
