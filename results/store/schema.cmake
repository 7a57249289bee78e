# cmake -DTABLES=schema.sql -DVIEWS=views.sql -DFOLDER=... -P schema.cmake: writes FOLDER/schema_1.sql
# and FOLDER/schema_2.sql, as the head of views.sql says.
file(READ "${TABLES}" tables)
file(READ "${VIEWS}" views)
string(REGEX REPLACE "^(--[^\n]*\n)+\n" "" views "${views}")
string(REGEX REPLACE "{2[|][^}]*}" "" first "${views}")
string(REGEX REPLACE "{1[|]([^}]*)}" "\\1" first "${first}")
file(WRITE "${FOLDER}/schema_1.sql" "${tables}${first}")

string(REGEX REPLACE "{1[|][^}]*}" "" second "${views}")
string(REGEX REPLACE "{2[|]([^}]*)}" "\\1" second "${second}")
string(REGEX MATCHALL "CREATE VIEW [a-z_]+" names "${second}")
string(REGEX REPLACE "CREATE (VIEW [a-z_]+);?" "DROP \\1;\n" drops "${names}")
string(REPLACE "@DROPS@" "${drops}" second "${second}")
file(WRITE "${FOLDER}/schema_2.sql" "${second}")
